"""What the forms of the Engine page do: save, or test what is on the screen without saving it."""

from typing import Any

from django.forms import Form
from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from embeddings.resolver import resolve
from memory import services
from memory.config import load_settings
from studio.access import StudioRequest, staff_page
from studio.forms.engine import EmbeddingForm, RerankForm
from studio.pages import render_fragment, wants_fragment
from studio.toasts import add_toast
from studio.views.engine import go_to_engine, render_engine
from studio.views.engine_tests import run_embedding_test, run_rerank_test


@require_POST
@staff_page
def save_embedding(request: StudioRequest) -> HttpResponseBase:
    form = EmbeddingForm(request.POST)
    if not form.is_valid():
        return render_engine(request, embedding=form, status=422)
    before = resolve(load_settings().embedding).signature
    services.change_settings(form.list_changes())
    is_other = resolve(load_settings().embedding).signature != before
    add_toast(request, _("Saved. A new index is built beside the old one") if is_other else _("Saved"))
    return go_to_engine("engine-config-embedding")


@require_POST
@staff_page
def test_embedding(request: StudioRequest) -> HttpResponseBase:
    form = EmbeddingForm(request.POST)
    context = {"embedding_test": run_embedding_test(form.build_config())} if form.is_valid() else {}
    if wants_fragment(request):
        told = {**context, "embedding": form}
        return render_fragment(request, "studio/_engine_embedding_test.html", told, status=_judge(form))
    return render_engine(request, embedding=form, extra=context, status=_judge(form))


@require_POST
@staff_page
def save_rerank(request: StudioRequest) -> HttpResponseBase:
    form = RerankForm(request.POST)
    if not form.is_valid():
        return render_engine(request, rerank=form, status=422)
    services.change_settings(form.list_changes())
    add_toast(request, _("Saved"))
    return go_to_engine("engine-config-rerank")


@require_POST
@staff_page
def test_rerank(request: StudioRequest) -> HttpResponseBase:
    form = RerankForm(request.POST)
    context: dict[str, Any] = {}
    if form.is_valid():
        model = form.cleaned_data["model"]
        context = {"rerank_test": run_rerank_test(model)} if model else {"needs_rerank_model": True}
    if wants_fragment(request):
        told = {**context, "rerank": form}
        return render_fragment(request, "studio/_engine_rerank_test.html", told, status=_judge(form))
    return render_engine(request, rerank=form, extra=context, status=_judge(form))


def _judge(form: Form) -> int:
    return 422 if form.errors else 200
