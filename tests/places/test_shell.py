"""Shell text: what stands before vLLM, what holds its flags, and what only looks like a command."""

import pytest

from kvinspect.document.problem import Mark
from kvinspect.places import shell
from kvinspect.places.source import of_file, of_lines


def found(text):
    return list(shell.find(text, "run.sh"))


def words(text):
    return [[word.text for word in one.whole or one.words] for one in found(text)]


@pytest.mark.parametrize(
    "before",
    [
        "",
        "exec ",
        "nohup ",
        "CUDA_VISIBLE_DEVICES=0,1 nohup ",
        "env A=1 ",
        "sudo -E ",
        "uv run ",
        "uv run --with vllm==0.28.0 ",
        "srun -N 2 --gpus-per-node 8 ",
        "numactl --cpunodebind=0 ",
        "timeout 60 ",
        "conda run -n serving ",
        "apptainer exec --nv image.sif ",
        "docker exec -it engine ",
        "docker compose exec engine ",
        "$PREFIX ",
        "if ",
        "! ",
        "/usr/bin/",
        "$VENV/bin/",
        "cd /tmp && ",
        "true; ",
        "echo x | ",
    ],
)
def test_what_may_stand_before_the_program(before):
    assert words(f"{before}vllm serve m --port 1") == [["m", "--port", "1"]]


@pytest.mark.parametrize(
    "program",
    [
        "python -m vllm.entrypoints.openai.api_server",
        "python3 -u -m vllm.entrypoints.openai.api_server",
        '"$PYTHON" -m vllm.entrypoints.openai.api_server',
        "python -m vllm.entrypoints.cli.main serve",
        "docker run vllm/vllm-openai:v0.32.0",
        "docker run --rm vllm/vllm-openai serve",
        "docker run --rm acme/base vllm serve",
        "docker run --entrypoint vllm acme/base serve",
        "podman run -e A=1 -v /a:/b docker.io/vllm/vllm-openai:v0.32.0",
        "docker run $OPTIONS vllm/vllm-openai:v0.32.0",
        "bash -c 'vllm serve",
        'bash -lc "exec vllm serve',
        "ssh host 'vllm serve",
        "tmux new-session -d -s a 'vllm serve",
    ],
)
def test_what_starts_the_server(program):
    quote = next((one for one in "'\"" if program.count(one) == 1), "")
    assert words(f"{program} --model m{quote}") == [["--model", "m"]]


@pytest.mark.parametrize(
    "text",
    [
        "# vllm serve m --port 1",
        "echo vllm serve m --port 1",
        'echo "vllm serve m --port 1"',
        "cat <<EOF\nvllm serve m --port 1\nEOF",
        "pkill -f 'vllm serve m --port 1'",
        "grep 'vllm serve' log --color",
        "pip install vllm --upgrade",
        "vllm bench serve --model m",
        "vllm serve --omni m",
        "docker run acme/ui:2 --port 3000 # vllm",
        "docker run acme/vllm-router:2 --port 3000",
        "docker run vllm/vllm-openai:v0.32.0 nvidia-smi",
        "docker run my-vllm --concurrency 8 --max-batch-tokens 4096",
        "docker build -t vllm/vllm-openai . --no-cache",
        "python -m vllm.other --port 1",
        "python serve_vllm.py --port 1",
        "X=vllm; serve --port 1",
    ],
)
def test_what_only_looks_like_it(text):
    assert found(text) == []


def test_a_line_that_goes_on_is_one_command():
    (one,) = found("vllm serve m \\\n  --port 1 \\\n  --seed=2\necho --seed 3 # vllm")
    assert [(word.text, *word.mark) for word in one.words] == [
        ("m", 1, 12),
        ("--port", 2, 3),
        ("1", 2, 10),
        ("--seed=2", 3, 3),
    ]


def test_quotes_are_taken_away_and_their_places_kept():
    (one,) = found('vllm serve "a b" --x=\'{"k": "é"}\' --y \\"z $\'n\'')
    assert [word.text for word in one.words] == ["a b", '--x={"k": "é"}', "--y", '"z', "n"]
    assert (one.words[0].mark, one.words[0].begins) == (Mark(1, 12), Mark(1, 13))
    assert one.words[2].mark == Mark(1, 35)


def test_a_variable_that_is_set_once_is_what_it_holds():
    (one,) = found("TP=4\nvllm serve m --tensor-parallel-size $TP --port=${PORT:-80} --seed $SEED")
    value, port, seed = one.words[2], one.words[3], one.words[5]
    assert (value.text, value.opaque, value.begins) == ("4", False, Mark(1, 4))
    assert (port.text, port.opaque, port.default) == ("--port=${PORT:-80}", True, "--port=80")
    assert (seed.text, seed.opaque, seed.default) == ("$SEED", True, None)


@pytest.mark.parametrize("other", ["TP=8", "TP+=1", "if a; then TP=8; fi", "[ a ] && TP=8"])
def test_a_variable_that_is_set_twice_is_not_known(other):
    (one,) = found(f"TP=4\n{other}\nvllm serve m --tensor-parallel-size $TP")
    assert one.words[2].opaque


def test_an_array_that_holds_the_command_is_one_place():
    (one,) = found('cmd=(vllm serve m)\ncmd+=(--seed 1)\n"${cmd[@]}" --port 2')
    assert [word.text for word in one.words] == ["m", "--seed", "1", "--port", "2"]
    assert one.command == Mark(1, 6)


def test_a_text_that_is_run_later_is_a_place():
    (one,) = found('CMD="vllm serve m --seed 1"\neval "$CMD"')
    assert [(word.text, *word.mark) for word in one.words] == [("m", 1, 17), ("--seed", 1, 19), ("1", 1, 26)]


def test_flags_of_another_branch_are_judged_alone():
    first, second, command = found('A=(--seed 1)\nif b; then A=(--seed 2); fi\nvllm serve m "${A[@]}"')
    assert (first.part_of, second.part_of) == (command.words[0].mark, None)
    assert [word.text for word in command.whole] == ["m", "--seed", "1"]


def test_variables_that_count():
    (one,) = found(
        "export VLLM_A=1\nVLLM_B=2\nVLLM_C=3 docker run -e VLLM_D=4 --env=VLLM_E=5 vllm/vllm-openai --model m\nexport VLLM_F=6"
    )
    assert [(entry.key.text, entry.value.text) for entry in one.env] == [
        ("VLLM_A", "1"),
        ("VLLM_C", "3"),
        ("VLLM_D", "4"),
        ("VLLM_E", "5"),
    ]
    assert one.env[2].key.mark == Mark(3, 24)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CUDA_VISIBLE_DEVICES=0,1 vllm serve m", "2"),
        ("docker run --gpus 3 vllm/vllm-openai --model m", "3"),
        ("docker run --gpus all vllm/vllm-openai --model m", None),
        ("CUDA_VISIBLE_DEVICES=$X vllm serve m", None),
    ],
)
def test_how_many_gpus(text, number):
    (one,) = found(text)
    assert (one.gpus and one.gpus.value) == number


def test_a_shell_text_inside_a_file_has_the_places_of_the_file():
    source = of_lines("set -e\nvllm serve m \\\n  -tp 2\n", [Mark(10, 7), Mark(11, 7), Mark(12, 7)])
    (one,) = shell.find_in(source, "YAML: shell string")
    assert (one.form, one.command, one.words[1].mark) == ("YAML: shell string", Mark(11, 7), Mark(12, 9))


@pytest.mark.parametrize("text", ["--model ${M:-a/b} -tp 2", "--model ${M:-a/b}\n-tp\n2\n"])
def test_words_of_one_string(text):
    got = shell.words_of(of_file(text))
    assert [word.text for word in got] == ["--model", "${M:-a/b}", "-tp", "2"]
    assert (got[1].opaque, got[1].default) == (True, "a/b")
