"""The words that rules ask about, grouped by what they do in a sentence."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- adverbs ---------------------------------------------------------------------------------------------
POSITIVE_FREQUENCY = _words(
    "always usually typically often frequently regularly normally generally routinely habitually mostly "
    "mainly commonly constantly consistently invariably customarily ordinarily"
)
NEGATIVE_FREQUENCY = _words("never rarely seldom hardly barely scarcely infrequently ne'er")
# "not always" is less than a habit and more than none: its content keeps the adverb.
ABSOLUTE_FREQUENCY = _words("always constantly invariably consistently")
HEDGES = _words(
    "maybe perhaps possibly probably supposedly allegedly apparently hypothetically theoretically conceivably"
)
NEAR_MISSES = _words("almost nearly")
OTHER_ADVERBS = _words(
    "just also still even too so very much quite now then already yet ever far again soon today tonight "
    "tomorrow yesterday myself kinda sorta indeed anyway though however therefore thus instead simply "
    "first pretty super hella lowkey only sometimes once uh um er alone least nowadays lately"
)
# Verbs, nouns and names that end like an adverb.
LY_VERBS = _words("apply rely reply supply fly comply multiply imply ally rally tally bully sully july italy family")
ADVERB_PHRASES = (
    "kind of",
    "sort of",
    "at least",
    "of course",
    "for one",
    "in fact",
    "by now",
    "these days",
    "for sure",
    "at all",
    "at times",
)
FREQUENCY_PHRASES = ("as a rule", "more often than not", "most of the time", "as always", "in general")

# --- auxiliaries and pronouns ------------------------------------------------------------------------------
DO = _words("do does did")
WILL = _words("will shall")
MODALS = _words("would could should might may must can ought")
HAVE = _words("have had has")
BE = _words("am is are was were been be being")
AUXILIARIES = DO | WILL | MODALS | HAVE | BE
SUBJECT_PRONOUNS = _words("i he she we they you it who everyone everybody someone somebody anyone nobody no-one")
BARE_OBJECTS = _words(
    "it that this them him her you me us those these so one ones both all some none either neither any "
    "anything something nothing everything everyone everybody mine yours his hers theirs myself "
    "yourself itself what which there here too many much more most less least better best not do have "
    "will would did am is was yes no ok okay"
)
POSSESSIVES = _words("my your his her its our their")
DETERMINERS = POSSESSIVES | _words("a an the this that these those")

# --- verbs the rules look for -----------------------------------------------------------------------------
POSITIVE_VERBS = _words("like love prefer enjoy adore favour favor")
NEGATIVE_VERBS = _words("hate dislike avoid detest loathe despise abhor")
PREFERENCE_VERBS = POSITIVE_VERBS | NEGATIVE_VERBS
ENDURE_VERBS = _words("stand bear abide tolerate stomach")
PREFERENCE_FORMS: dict[str, str] = {
    form: base
    for base, forms in {
        "like": "liked liking",
        "love": "loved loving",
        "prefer": "preferred prefered preferring",
        "enjoy": "enjoyed enjoying",
        "adore": "adored adoring",
        "favour": "favoured favouring",
        "favor": "favored favoring",
        "hate": "hated hating",
        "dislike": "disliked disliking",
        "avoid": "avoided avoiding",
        "detest": "detested detesting",
        "loathe": "loathed loathing",
        "despise": "despised despising",
    }.items()
    for form in forms.split()
}
CHOICE_FORMS: dict[str, str] = {
    form: base
    for base, forms in {
        "choose": "chose chosen choosing",
        "pick": "picked picking",
        "select": "selected selecting",
        "opt": "opted opting",
        "settle": "settled settling",
        "decide": "decided deciding",
        "go": "went gone going",
        "switch": "switched switching",
        "stick": "stuck sticking",
    }.items()
    for form in forms.split()
}
CHOICE_BASES = frozenset(CHOICE_FORMS.values())
INTENDED_BASES = CHOICE_BASES - {"decide"} | _words("use adopt")
# A choice verb that needs one of these words right after it to speak of a choice.
REQUIRED_PARTICLES: dict[str, frozenset[str]] = {
    "opt": _words("for to not against"),
    "settle": _words("on for"),
    "go": _words("with"),
    "switch": _words("to over back from"),
    "stick": _words("with to"),
}
# "picked up", "picked on": other verbs.
FOREIGN_PARTICLES = _words("up on at off through apart away over between")
QUIT_FORMS = _words("stopped quit stopping quitting")
PARTICIPLES = frozenset(PREFERENCE_FORMS) | frozenset(CHOICE_FORMS) | QUIT_FORMS | _words("given been used made")

# Thinking, saying, wondering: as a habit they tell nothing, and as a frame they report.
SPEECH_AND_THOUGHT = _words(
    "say says said saying tell tells told telling think thinks thought thinking claim claims claimed "
    "claiming believe believes believed assume assumes assumed insist insists insisted argue argues "
    "argued suggest suggests suggested hear hears heard read reads write writes wrote written writing "
    "joke jokes joked feel feels felt guess guessed suspect suspects suspected doubt doubts doubted "
    "hope hopes hoped hoping wish wishes wished swear swears swore mean means meant imply implies "
    "implied complain complains complained mention mentions mentioned mentioning repeat repeats "
    "repeated know knows knew knowing remember remembers remembered forget forgets forgot pretend "
    "pretends pretended pretending convince convinced prove proves proved ask asks asked asking wonder "
    "wonders wondered wondering print prints echo type typed dream dreamt dreamed shout shouts shouted "
    "yell yells yelled whisper whispers whispered sing sings sang explain explains explained understand "
    "understands understood realise realize realised realized notice noticed admit admits admitted "
    "confess imagine imagined suppose report reports reported state states stated post posted posts "
    "tweeted texted emailed message messaged reply replied announce announces announced declare "
    "declares declared pray fear concede figure reckon reckons show shows prove proves indicate "
    "indicates find finds found discover discovered learn learned"
)
# People in the speaker's life: with a verb behind them they are the subject of a new clause.
PERSON_NOUNS = _words(
    "sister brother mother father mum mom dad wife husband partner girlfriend boyfriend friend friends "
    "son daughter kid kids children child family parents cousin cousins aunt uncle niece nephew "
    "grandmother grandfather grandma grandpa colleague colleagues coworker coworkers team boss "
    "neighbour neighbours neighbor neighbors roommate flatmate doctor teacher manager twin fiance "
    "fiancee ex son-in-law mother-in-law dog cat"
)
COGNITION_HABITS = _words(
    "say tell think wonder guess assume believe know suppose mean mind hear doubt understand hope wish "
    "want wanted hoped wished dreamed dreamt thought felt believed known said told wondered expected "
    "planned"
)

# "My favourite mug is dirty" names nothing; "... is dirty rice" does.
STATE_ADJECTIVES = _words(
    "angry sad happy ill sick dead late broken dirty clean empty full closed open lost missing ready "
    "sold cancelled canceled finished done dry wet cold hot warm tired busy free available unavailable "
    "expensive cheap early wrong right great good bad awful terrible nice lovely amazing wonderful "
    "delicious tasty different similar unknown hard easy difficult worn torn pregnant married retired "
    "single engaged alive unwell fun better worse small big old new far long"
)
# After "is", these tell of a state, a place or a happening, so that no thing is named.
STATE_WORDS = _words(
    "gone back away out off down up over too very so really quite still already now always never here "
    "there not no being about in on at from with under near for by behind inside outside between "
    "because if coming going getting having taking it he she they you we me him her them that this "
    "these those what why how where only also almost stuck known made held kept seen sung written found "
    "based located named built lying than as like of both"
)

# --- irregular past forms, for telling "never saw" from "never see" -------------------------------------
PAST_FORMS = _words(
    "was were had did said went got made knew thought took saw came gave found told felt became left "
    "began kept held wrote stood heard meant met ran paid sat spoke lay led grew lost fell sent built "
    "understood drew broke spent drove bought wore chose ate slept won taught brought caught fought "
    "flew forgot froze hid kept knelt rode rang rose sold shook shot sang sank spoke stole swam swore "
    "threw woke drank lent bent dealt dreamt fed bled bred sought could"
)
PRESENT_ED = _words("need feed speed embed bleed breed heed seed weed shed wed shred exceed proceed succeed")

# --- clause borders -----------------------------------------------------------------------------------------
COORDINATORS = _words("and but or so yet plus then & nor")
REASONS = _words("because cause cuz coz although though whereas albeit")
FINITE_VERBS = _words(
    "likes loves hates prefers enjoys dislikes adores avoids wants thinks says said needs lives works "
    "makes takes gives gets goes comes leaves uses chooses picks picked chose went sees knows keeps "
    "seems looks feels eats drinks reads plays sleeps tends insists drives runs wrote told asked tastes "
    "smells sounds costs means helps finds decided ordered bought took swears calls became gave wanted "
    "cooks cleans brings buys pays makes sings swims walks rides smokes writes speaks"
)
INTERROGATIVES = _words("what why how who whom whose which where when")


def is_adverb(word: str) -> bool:
    """True for words that may stand between subject and verb and change nothing."""
    if word in OTHER_ADVERBS or word in HEDGES or word in NEAR_MISSES:
        return True
    return len(word) > 4 and word.endswith("ly") and word.isalpha() and word not in LY_VERBS
