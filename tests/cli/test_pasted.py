"""Commands as people paste them, as a process: one reader for every command of kvinspect."""

import json

import pytest

MODEL = "examples/models/qwen3-8b"
MEMORY = ("--available-kv-cache-memory", "12.57GiB")


def blocks(run, *words):
    done = run("plan", *words, *MEMORY, "-f", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["engine"], found["num_blocks"], found["max_model_len"]


WHOLE = f"VLLM_LOGGING_LEVEL=DEBUG vllm serve {MODEL} -q fp8 \\\n  --tensor-parallel 2 \\\n  --max-model-len=8k  # as before"
DOCKER = f"docker run --gpus all -it --platform linux/amd64 -e A=1 vllm/vllm-openai:v0.27.1 --model {MODEL} -tp 2 --max-model-len 8k"

SAME = f"{MODEL} -tp 2 --max-model-len 8k"
BEFORE = (
    ("uvx", "0.33.0"),
    ("uvx --from vllm==0.27.1", "0.27.1"),
    ("uv run --with vllm", "0.33.0"),
    ("uv run --with 'vllm[audio]==0.27.1' --", "0.27.1"),
    ("srun -N1 --gres=gpu:2", "0.33.0"),
    ("apptainer exec --nv vllm.sif", "0.33.0"),
    ("conda run -n serving", "0.33.0"),
    ("docker compose run vllm", "0.33.0"),
    ("docker exec -it box", "0.33.0"),
    ("kubectl exec -it pod-1 --", "0.33.0"),
)
"""What may stand before `vllm serve` and the release that it pins, else the newest."""


@pytest.mark.parametrize(
    ("words", "engine"),
    [
        ([WHOLE], "0.33.0"),
        (WHOLE.partition("#")[0].replace("\\\n", "").split(), "0.33.0"),
        ([f"python -m vllm.entrypoints.openai.api_server --model {MODEL} -tp 2 --max-model-len 8k"], "0.33.0"),
        (f"python -m vllm.entrypoints.openai.api_server --model {MODEL} -tp 2 --max-model-len 8k".split(), "0.33.0"),
        ([DOCKER], "0.27.1"),
        (DOCKER.split(), "0.27.1"),
        (
            [f'docker run -e "HF_TOKEN=$T" vllm/vllm-openai:v0.27.1 {MODEL} -tp 2 --max-model 8k --api-key $K > l &'],
            "0.27.1",
        ),
        ([f"vllm serve {MODEL} -tp 4", "-tp", "2", "--max-model-len", "8k"], "0.33.0"),
        *[([f"{before} vllm serve {SAME}"], engine) for before, engine in BEFORE],
        ([f"tmux new-session -d 'vllm serve {SAME}'"], "0.33.0"),
        ([f"ssh host 'vllm serve {SAME}'"], "0.33.0"),
        ([f"torchrun --nproc-per-node 2 -m vllm.entrypoints.openai.api_server --model {SAME}"], "0.33.0"),
        (f"torchrun --nproc-per-node 2 -m vllm.entrypoints.openai.api_server --model {SAME}".split(), "0.33.0"),
        ([f"podman run --device nvidia.com/gpu=all vllm/vllm-openai:v0.27.1 {SAME}"], "0.27.1"),
        ([f"kubectl run vllm --image=vllm/vllm-openai:v0.27.1 --env=A=1 -- {SAME}"], "0.27.1"),
        ([f"kubectl run vllm --image vllm/vllm-openai:v0.27.1 --command -- vllm serve {SAME}"], "0.27.1"),
        ([f"vllm serve {MODEL} `\n  -tp 2 `\r\n  --max-model-len 8k"], "0.33.0"),
        ([f"vllm serve {MODEL} ^\n  -tp 2 ^\n  --max-model-len 8k"], "0.33.0"),
    ],
)
def test_one_command_however_it_is_written(run, words, engine):
    said, num_blocks, longest = blocks(run, *words)
    assert (said.removesuffix(".0"), num_blocks, longest) == (engine.removesuffix(".0"), 11441, 8000)


@pytest.mark.parametrize("command", ["align", "cg-support", "map"])
def test_other_commands_read_the_same(run, command):
    memory = () if command == "cg-support" else MEMORY
    assert run(command, f"vllm serve {MODEL} --max-model-len 8k", *memory).returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([f"vllm serve {MODEL} --max-model-len $LEN"], "--max-model-len has $LEN: no variable"),
        (["vllm serve $(touch here)"], "no command of a shell is read"),
        ([f"vllm serve '{MODEL}"], "that is never closed"),
        ([f"vllm serve {MODEL}; vllm serve {MODEL}"], "found 2"),
        ([f"docker run --gpus 2 vllm/vllm-openai --model {MODEL} -tp 4"], "--gpus 2 names 2 GPUs"),
        ([f"CUDA_VISIBLE_DEVICES=0 vllm serve {MODEL} -tp 2"], "CUDA_VISIBLE_DEVICES=0 names 1 GPU"),
        (["vllm", "chat", "x"], "only `vllm serve`"),
        (["kubectl run vllm --image=vllm/vllm-openai:v0.27.1"], "stand behind --"),
        ([f"kubectl run vllm -- --model {MODEL}"], "names no image"),
        ([f"docker run vllm/vllm-openai:v0.9.9 --model {MODEL}"], "0.9.9"),
    ],
)
def test_what_cannot_be_read_is_one_clear_error(run, words, message, tmp_path):
    done = run("plan", *words, *MEMORY)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_is_left_out_is_said(run):
    done = run("plan", f"cd /tmp && vllm serve {MODEL} | tee log", *MEMORY, "-q")
    assert done.returncode == 0
    assert "the command `cd /tmp` is left out" in done.stderr
    assert "what follows the pipe, `tee log`, is left out" in done.stderr


IGNORED = ("VLLM_USE_V1", "VLLM_ATTENTION_BACKEND", "VLLM_PLUGIN")


def test_a_variable_that_the_release_ignores_is_said_and_stops_nothing(run):
    done = run("plan", f"VLLM_USE_V1=1 VLLM_ATTENTION_BACKEND=X VLLM_PLUGIN=y vllm serve {MODEL}", *MEMORY, "-q")
    assert done.returncode == 0
    told = done.stderr.splitlines()
    assert [f"vLLM 0.33.0 ignores {name}; " in line for name, line in zip(IGNORED, told, strict=True)] == [True] * 3
    assert told[0].endswith("there is one engine, and it is that one")
    assert told[1].endswith("use --attention-backend")
    assert told[2].endswith("did you mean VLLM_PLUGINS?")


def test_a_variable_that_the_release_is_told_to_refuse_is_no_warning(run):
    done = run("plan", f"VLLM_USE_V1=1 vllm serve {MODEL} --fail-on-environ-validation", *MEMORY)
    assert done.returncode == 2
    assert "VLLM_USE_V1" in done.stderr
    assert "ignores" not in done.stderr
