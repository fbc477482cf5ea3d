"""The providers that are known by name, as one literal table. All of them speak the OpenAI protocol at `base_url`.

Their embedding and rerank models are in `registry_models`. A row of `core.providers.models.Provider` with the same
name wins over an entry here, and adds providers that aren't in the table.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from core.words import gettext as _

SystemRole = Literal["any", "first", "none"]


@dataclass(frozen=True)
class KnownProvider:
    """`env_name` is the variable that holds its key, "" for one that wants none.

    `system_role` tells where a system message may stand: anywhere, only at index 0, or not at all.
    """

    id: str
    name: str
    base_url: str
    env_name: str = ""
    chats: bool = True
    embeds: bool = False
    reranks: bool = False
    system_role: SystemRole = "any"

    @property
    def needs_key(self) -> bool:
        return bool(self.env_name)


ECHO: Final = "echo"
PROVIDER_NAME: Final = re.compile(r"[a-z0-9._-]{1,64}", re.ASCII)

# The order matters: without any other default, a bare model name goes to the first entry whose key is in the
# environment.
PROVIDERS: Final = (
    KnownProvider("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", embeds=True),
    KnownProvider("anthropic", "Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    KnownProvider(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        embeds=True,
    ),
    KnownProvider(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        embeds=True,
        reranks=True,
    ),
    KnownProvider("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", embeds=True),
    KnownProvider("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    KnownProvider("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    KnownProvider("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY"),
    KnownProvider(
        "together",
        "Together AI",
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        embeds=True,
        reranks=True,
    ),
    KnownProvider(
        "fireworks",
        "Fireworks AI",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        embeds=True,
        reranks=True,
    ),
    KnownProvider(
        "deepinfra",
        "DeepInfra",
        "https://api.deepinfra.com/v1/openai",
        "DEEPINFRA_API_KEY",
        embeds=True,
        reranks=True,
    ),
    KnownProvider(
        "nebius",
        "Nebius Token Factory",
        "https://api.tokenfactory.nebius.com/v1",
        "NEBIUS_API_KEY",
        embeds=True,
    ),
    KnownProvider(
        "nvidia", "NVIDIA", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY", embeds=True, reranks=True
    ),
    KnownProvider("cerebras", "Cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    KnownProvider("sambanova", "SambaNova", "https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
    KnownProvider("perplexity", "Perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    KnownProvider(
        "cohere",
        "Cohere",
        "https://api.cohere.ai/compatibility/v1",
        "COHERE_API_KEY",
        embeds=True,
        reranks=True,
    ),
    KnownProvider("upstage", "Upstage", "https://api.upstage.ai/v1", "UPSTAGE_API_KEY", embeds=True),
    KnownProvider("siliconflow", "SiliconFlow", "https://api.siliconflow.com/v1", "SILICONFLOW_API_KEY", reranks=True),
    KnownProvider("moonshot", "Moonshot AI", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    KnownProvider("zai", "Z.AI", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", system_role="none"),
    KnownProvider("glm", "GLM Coding Plan", "https://api.z.ai/api/coding/paas/v4", "GLM_API_KEY", system_role="none"),
    KnownProvider(
        "glmt",
        "GLM Coding Plan, thinking models",
        "https://api.z.ai/api/coding/paas/v4",
        "GLM_API_KEY",
        system_role="none",
    ),
    KnownProvider(
        "glm-cn", "Zhipu BigModel", "https://open.bigmodel.cn/api/paas/v4", "GLM_CN_API_KEY", system_role="none"
    ),
    KnownProvider("qianfan", "Baidu Qianfan", "https://qianfan.baidubce.com/v2", "QIANFAN_API_KEY", system_role="none"),
    KnownProvider("minimax", "MiniMax", "https://api.minimax.io/v1", "MINIMAX_API_KEY"),
    KnownProvider(
        "dashscope",
        "Alibaba Model Studio (Qwen)",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
    ),
    KnownProvider("xiaomi-mimo", "Xiaomi MiMo", "https://api.xiaomimimo.com/v1", "XIAOMI_API_KEY", system_role="first"),
    KnownProvider(
        "vercel-ai-gateway",
        "Vercel AI Gateway",
        "https://ai-gateway.vercel.sh/v1",
        "AI_GATEWAY_API_KEY",
        embeds=True,
    ),
    KnownProvider("nanogpt", "NanoGPT", "https://nano-gpt.com/api/v1", "NANOGPT_API_KEY", embeds=True),
    KnownProvider(
        "clova-studio",
        "Naver CLOVA Studio",
        "https://clovastudio.stream.ntruss.com/v1/openai",
        "CLOVA_STUDIO_API_KEY",
        embeds=True,
    ),
    KnownProvider(
        "voyage-ai",
        "Voyage AI",
        "https://api.voyageai.com/v1",
        "VOYAGE_API_KEY",
        chats=False,
        embeds=True,
        reranks=True,
    ),
    KnownProvider(
        "jina-ai", "Jina AI", "https://api.jina.ai/v1", "JINA_API_KEY", chats=False, embeds=True, reranks=True
    ),
    KnownProvider(
        "mixedbread",
        "Mixedbread",
        "https://api.mixedbread.com/v1",
        "MIXEDBREAD_API_KEY",
        chats=False,
        embeds=True,
    ),
    KnownProvider("lmstudio", "LM Studio on this machine", "http://127.0.0.1:1234/v1", embeds=True),
    KnownProvider("ollama-local", "Ollama on this machine", "http://127.0.0.1:11434/v1", embeds=True),
    KnownProvider("vllm", "vLLM on this machine", "http://127.0.0.1:8000/v1", embeds=True),
    KnownProvider(ECHO, _("Built-in echo"), ""),
)

ALIASES: Final = {"jina": "jina-ai", "lm-studio": "lmstudio", "qwen": "dashscope", "voyage": "voyage-ai"}

_BY_ID: Final = {provider.id: provider for provider in PROVIDERS}
# Models that take no system message, wherever they are sold; a dated or tagged name is the same model.
_WITHOUT_SYSTEM_ROLE: Final = re.compile(r"o1(?:-mini|-preview)?(?:-\d{4}-?\d{2}-?\d{2})?(?::[\w-]+)?", re.ASCII)


def find_provider(provider_id: str) -> KnownProvider | None:
    """Return the entry with this id or alias; case and outer blanks don't matter."""
    wanted = provider_id.strip().lower()
    return _BY_ID.get(ALIASES.get(wanted, wanted))


def read_system_role(provider_id: str, model: str) -> SystemRole:
    """Return where a system message may stand for `model` of `provider_id`: the model's own rule comes first."""
    for name in (provider_id.strip(), model.rpartition("/")[2].strip()):
        if _WITHOUT_SYSTEM_ROLE.fullmatch(name.lower()):
            return "none"
    known = find_provider(provider_id)
    return known.system_role if known else "any"
