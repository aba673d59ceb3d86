"""No command prints a check mark where something given is not modelled: every such name, in several releases."""

import json

import pytest

import kvinspect
from kvinspect.data import duties, flags
from kvinspect.linting.settings import Settings
from kvinspect.models.memory import Memory
from kvinspect.report import align, cg_support, diff, plan
from kvinspect.report.map import page as map_page

RELEASES = ("0.25.1", "0.28.0", "0.33.0")
MODEL = {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "num_experts": 8, "hidden_size": 1024, "num_hidden_layers": 2,
    "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 2048,
    "vocab_size": 1000, "torch_dtype": "bfloat16",
}  # fmt: skip
ESTIMATED = Memory(1 << 30, "estimated", exact=False)
DRAFT = {"speculative_config": {"method": "dflash", "model": "nobody/dflash", "num_speculative_tokens": 4}}
FLAGS_OF_DRAFTS = ("disable_eagle_block_drop", "enable_adaptive_verification")
"""Keys that are true or false."""

NGRAM = {"method": "ngram", "num_speculative_tokens": 2}
DSPARK = {"method": "dspark", "model": "nobody/dspark", "num_speculative_tokens": 2}
METHODS = {"enable_adaptive_verification": DSPARK}
"""The drafts that a key is for, where the engine refuses it for others."""

NEEDS = {
    "enable-eplb": {"enable_expert_parallel": True, "tensor_parallel_size": 2},
    "enable-mamba-cache-stochastic-rounding": {"mamba_ssm_cache_dtype": "float16"},
}
"""What the engine asks for beside a flag."""


def rows(release):
    """(room, name, duty) of all that a release has and nobody models."""
    known, own = duties.read(release), duties.names(release)
    for room in (duties.FLAGS, duties.VARIABLES, duties.KEYS):
        for name, duty in known[room].items():
            if duty.kind == duties.NOT_MODELLED and name in own[room]:
                yield room, name, duty


def value_of(release, room, name, duty):
    """A value of a name that is not modelled."""
    if duty.only:
        return duty.only[0]
    if room == duties.VARIABLES:
        return "1"
    flag = flags.read(release).find(name) if room == duties.FLAGS else {}
    if flag and flag["takes"] == "nothing":
        return True
    choices = [one for one in (flag or {}).get("choices") or () if duty.touches(one)]
    if choices:
        return choices[0]
    return {"bool": True, "int": 2, "float": 2.0, "json": {"x": 1}}.get((flag or {}).get("type"), "2")


def given(release, room, name, duty):
    value = value_of(release, room, name, duty)
    if room == duties.VARIABLES:
        return {}, {name: value}
    flag, _, key = name.partition(".")
    value = True if key in FLAGS_OF_DRAFTS else value
    args = {flag.replace("-", "_"): {key: value} if key else value, **NEEDS.get(flag, {})}
    if flag == "speculative-config":
        args[flag.replace("-", "_")] |= METHODS.get(key, NGRAM)
    if flag == "kv-transfer-config":
        args[flag.replace("-", "_")] |= {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
    return args, {}


def first_line(page):
    return "".join(span.text for span in page.blocks[0].left)


def verdicts(release, args, env):
    """(what a command says first, the names that its JSON says are left out), command by command."""
    asked = {"engine": release, "engine_args": args, "memory": ESTIMATED, "env": env}
    planned = kvinspect.plan_model(MODEL, ESTIMATED, engine=release, engine_args=args, env=env)
    aligned = kvinspect.align(MODEL, **asked)
    graphs = kvinspect.cg_support(MODEL, **asked)
    compared = kvinspect.diff(MODEL, MODEL, engines=(release,), **{key: asked[key] for key in ("memory", "env")},
                              engine_args=args, other_engine_args=args)  # fmt: skip
    yield first_line(plan.page(planned.plan)), planned.plan
    yield first_line(align.page(aligned, align.View())), aligned
    yield first_line(cg_support.page(graphs)), graphs
    yield first_line(diff.page(compared)), compared
    tensor = aligned.tensors[0] if aligned.tensors else None
    if tensor is not None:
        yield first_line(map_page.page(aligned, tensor, list(tensor.shared_by), 1, 120)), aligned


def findings(release, args, env):
    found = kvinspect.lint(MODEL, engine=release, settings=Settings(), engine_args=args, memory=ESTIMATED, env=env)
    return [one.code for one in found.findings]


@pytest.mark.parametrize("release", RELEASES)
def test_no_command_is_silent_about_what_is_not_modelled(release):
    for room, name, duty in rows(release):
        args, env = given(release, room, name, duty)
        for line, answer in verdicts(release, args, env):
            assert "✓" not in line, (name, line)
            assert duty.says in line, (name, line)
            said = [one["what"].partition(" (of ")[0] for one in answer.to_dict()["not_modelled"]]
            assert [one for one in said if "the layers of the dspark draft" not in one] == [duty.says]
        assert "KV901" in findings(release, args, env), name


@pytest.mark.parametrize("release", RELEASES)
def test_a_draft_whose_layers_are_left_out_is_said_by_every_command(release):
    for line, answer in verdicts(release, DRAFT, {}):
        assert "✓" not in line
        assert "not counted: the layers of the dflash draft nobody/dflash" in line
        assert [one["name"] for one in answer.to_dict()["not_modelled"]] == ["--speculative-config"]
    assert "KV901" in findings(release, DRAFT, {})


@pytest.mark.parametrize("release", RELEASES)
def test_where_everything_counts_nothing_is_said(release):
    for line, answer in verdicts(release, {"max_model_len": 1024}, {"VLLM_LOGGING_LEVEL": "DEBUG"}):
        assert "✓" in line
        assert "not counted" not in line
        assert answer.to_dict()["not_modelled"] == []
    assert "KV901" not in findings(release, {"max_model_len": 1024}, {"VLLM_LOGGING_LEVEL": "DEBUG"})


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(MODEL))
    return str(path)


SIZE = ("--kv-cache-memory-bytes", "1G", "--enforce-eager")


@pytest.mark.parametrize(
    "command",
    [("plan",), ("align", "--device", "none"), ("map",), ("map", "-f", "svg"), ("map", "-f", "html"), ("lint",)],
    ids=" ".join,
)
def test_strict_ends_with_2_where_a_draft_is_left_out(run, model, command):
    draft = ("--speculative-config", json.dumps(DRAFT["speculative_config"]))
    assert run(*command, model, *SIZE, "--strict").returncode == 0
    assert run(*command, model, *SIZE, *draft).returncode == 0
    left_out = run(*command, model, *SIZE, *draft, "--strict")
    assert left_out.returncode == 2
    assert "nobody/dflash" in left_out.stdout


def test_strict_cg_support_diff_and_fit_end_with_2_too(run, model):
    draft = ("--speculative-config", json.dumps(DRAFT["speculative_config"]))
    assert run("cg-support", model, *draft).returncode == 0
    graphs = run("cg-support", model, *draft, "--strict")
    assert graphs.returncode == 2
    assert graphs.stdout.startswith("≤ ")
    assert run("diff", model, "--", model, *draft).returncode == 0
    compared = run("diff", model, "--", model, *draft, "--strict")
    assert compared.returncode == 2
    assert "(of B)" in compared.stdout.splitlines()[0]
    fitting = run("fit", model, "--gpu", "L4", *draft, "--strict")
    assert fitting.returncode == 2
    assert fitting.stdout.startswith("≤ ")


def test_a_variable_before_the_command_is_not_silent(run, model):
    words = ("VLLM_PLUGINS=mine", "vllm", "serve", model)
    for command in (("align", "--device", "none"), ("cg-support",)):
        result = run(*command, *words, *SIZE[:2], "--strict")
        assert result.returncode == 2
        assert result.stdout.startswith("≈ ")
        assert "not counted: what plugins change" in result.stdout.splitlines()[0]
    linted = run("lint", *words, "--strict")
    assert linted.returncode == 2
    assert "note[KV901] not-modelled: VLLM_PLUGINS" in linted.stdout


def test_a_document_of_the_plan_says_what_it_leaves_out(run, model):
    result = run("plan", model, *SIZE, "--worker-cls", "my.Worker", "-f", "document")
    assert result.stdout.startswith("# not counted: a worker of your own (--worker-cls)\n")
