"""Models by name: bundled facts, the hub's cache, the hub, and what is said of each."""

import http.server
import json
import threading

import pytest

import kvinspect
from kvinspect.bundled.lookup import Ambiguous, bundled, bundled_names, near_name
from kvinspect.models.hub import NotFound, located

SIZES = ("--gpu", "2xH100", "--weights", "65.5GB", "-f", "json")


def test_there_are_many_and_every_one_can_be_planned():
    names = bundled_names()
    assert len(names) >= 300
    for name in names:
        found = bundled(name)
        assert found.source.startswith(f"the facts of {name} ")
        assert kvinspect.specs(found.config).layers is not None


@pytest.mark.parametrize("name", ["Qwen/Qwen3-32B", "Qwen3-32B", "qwen3-32b", "qwen/qwen3-32b"])
def test_organization_and_case_may_be_left_out(name):
    assert bundled(name).name == "Qwen/Qwen3-32B"


def test_names_that_are_not_there():
    assert bundled("Qwen/Qwen3-33B") is None
    assert bundled("") is None
    assert near_name("Qwen3-33B") == "Qwen/Qwen3-32B"
    assert issubclass(Ambiguous, ValueError)


def test_facts_agree_with_the_published_files():
    config = bundled("meta-llama/Llama-3.3-70B-Instruct").config
    assert (config["num_hidden_layers"], config["num_key_value_heads"], config["vocab_size"]) == (80, 8, 128256)


def test_a_plan_by_name_without_network(run):
    found = json.loads(run("plan", "Qwen3-32B", *SIZES, env={"HF_ENDPOINT": "http://127.0.0.1:9"}).stdout)
    assert found["model_source"].startswith("the facts of Qwen/Qwen3-32B that come with kvinspect")
    assert found["num_blocks"]


def test_a_fine_tune_is_planned_like_its_base(run):
    found = json.loads(run("plan", "me/tuned", "--like", "Qwen/Qwen3-32B", *SIZES).stdout)
    assert found["model_source"].startswith("me/tuned is planned like Qwen/Qwen3-32B")


def test_the_hub_cache_comes_before_the_bundled_facts(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--Qwen--Qwen3-32B"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc")
    (folder / "snapshots" / "abc").mkdir(parents=True)
    (folder / "snapshots" / "abc" / "config.json").write_text("{}")
    assert located("Qwen/Qwen3-32B").path == folder / "snapshots" / "abc" / "config.json"
    (folder / "refs" / "main").write_text("../../..")
    assert located("Qwen/Qwen3-32B").config is not None


class Hub(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.path == "/me/mine/resolve/main/config.json"
        self.send_response(200 if known else 404)
        self.end_headers()
        self.wfile.write(b'{"model_type": "llama"}' if known else b"")

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(monkeypatch, tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    yield server
    server.shutdown()
    server.server_close()


def test_the_hub_is_asked_last(hub):
    found = located("me/mine")
    assert (found.config.config, found.source) == (
        {"model_type": "llama"},
        "config.json of me/mine on the Hugging Face Hub",
    )
    with pytest.raises(NotFound, match="does not give it \\(it does not exist\\)"):
        located("me/other")
    with pytest.raises(NotFound, match="only a model on the command line is fetched"):
        located("me/mine", named_by="serve.yaml")


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9", "file:///etc", "x"])
def test_a_hub_that_is_not_reached_is_one_sentence(monkeypatch, endpoint):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with pytest.raises(NotFound, match="could not be reached") as error:
        located("me/mine")
    assert len(str(error.value)) < 400


def test_offline_means_offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NotFound, match="HF_HUB_OFFLINE"):
        located("me/mine")


def test_models_are_listed(run):
    assert json.loads(run("models", "gpt-oss", "-f", "json").stdout)["models"] == [
        "openai/gpt-oss-120b",
        "openai/gpt-oss-20b",
    ]
