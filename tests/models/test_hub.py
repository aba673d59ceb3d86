"""What the hub is asked about a model that is not here: its configuration, and its weights without downloading one."""

import http.server
import json
import struct
import threading
import time

import pytest

from kvinspect.models import hub_files
from kvinspect.models.hub import NotFound, located
from kvinspect.models.hub_files import HubFiles, NotGiven
from kvinspect.models.hub_weights import FIRST, hub_weights
from kvinspect.question.command import read_command

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
    "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
}  # fmt: skip


def header(tensors, size):
    """A safetensors file whose tensors have `size` bytes together, without their bytes."""
    each = size // tensors
    named = {f"model.layers.{i}.weight": {"dtype": "BF16", "data_offsets": [i * each, (i + 1) * each]}
             for i in range(tensors)}  # fmt: skip
    text = json.dumps(named).encode()
    return struct.pack("<Q", len(text)) + text + bytes(1 << 20)


def counted(**parameters):
    return json.dumps({"id": "x", "safetensors": {"parameters": parameters, "total": 1}}).encode()


SMALL, LARGE = header(3, 3_000), header(4_000, 4_000_000)
FILES = {
    "/me/index/resolve/main/model.safetensors.index.json": b'{"metadata": {"total_size": 987}, "weight_map": {'
    + b'"a": "b",' * 100_000,
    "/me/single/resolve/main/model.safetensors": SMALL,
    "/me/large/resolve/main/model.safetensors": LARGE,
    "/api/models/me/facts?expand[]=safetensors": counted(BF16=10, F32=3, F8_E4M3=7, I64=1),
    "/api/models/me/hostile?expand[]=safetensors": b'{"safetensors": {"parameters": {"BF16": ' + b"9" * 99 + b"}}}",
    "/me/broken/resolve/main/model.safetensors": b"\xff" * 100,
    "/me/whole/resolve/main/config.json": json.dumps(CONFIG).encode(),
    "/me/whole/resolve/main/hf_quant_config.json": json.dumps(
        {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    ).encode(),
    "/me/whole/resolve/main/model.safetensors.index.json": b'{"metadata": {"total_size": 16060522496.0}}',
    "/me/bare/resolve/main/config.json": json.dumps(CONFIG).encode(),
    "/me/text/resolve/main/config.json": b"[" * 100_000,
}


class Hub(http.server.BaseHTTPRequestHandler):
    """The routes of the hub that are asked: files with ranges, and facts about models."""

    ranges = True

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Range"), self.headers.get("Authorization")))
        if self.path.startswith("/me/moved/"):
            self.send_response(302)
            self.send_header("Location", self.server.elsewhere + self.path.replace("/me/moved/", "/me/single/"))
            self.end_headers()
            return
        if self.path.startswith("/me/slow/"):
            self.send_response(200)
            self.end_headers()
            for _ in range(40):
                time.sleep(0.05)
                self.wfile.write(b" ")
            return
        found = FILES.get(self.path)
        if found is None:
            self.send_response(404)
            self.end_headers()
            return
        wanted = self.headers.get("Range")
        first, last = map(int, wanted.removeprefix("bytes=").split("-")) if wanted and self.ranges else (0, len(found))
        self.send_response(206 if wanted and self.ranges else 200)
        self.end_headers()
        self.wfile.write(found[first : last + 1])
        self.server.sent += len(found[first : last + 1])

    def log_message(self, *_):
        pass


def serving(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.asked, server.sent, server.elsewhere = [], 0, ""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture
def hub(monkeypatch, tmp_path):
    server = serving(Hub)
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    for name in ("HF_HUB_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("name", "size", "source"),
    [
        ("me/index", 987, "model.safetensors.index.json on the hub"),
        ("me/single", 3_000, "the header of model.safetensors on the hub"),
        ("me/large", 4_000_000, "the header of model.safetensors on the hub"),
        ("me/facts", 20 + 12 + 7 + 8, "the parameters that the hub counts"),
    ],
)
def test_weights_are_asked_of_the_hub_and_none_is_downloaded(hub, name, size, source):
    assert hub_weights(name) == (size, source)
    assert all(wanted for path, wanted, _ in hub.asked if "/resolve/" in path)
    assert hub.sent <= 2 * FIRST + len(LARGE) - (1 << 20)


def test_a_hub_that_ignores_ranges_is_not_read_to_its_end(hub, monkeypatch):
    monkeypatch.setattr(Hub, "ranges", False)
    assert hub_weights("me/single").size == 3_000
    with pytest.raises(NotGiven, match="names no safetensors files"):
        hub_weights("me/large")


@pytest.mark.parametrize("name", ["me/nothing", "me/broken", "me/hostile"])
def test_weights_that_the_hub_does_not_tell_are_one_sentence(hub, name):
    with pytest.raises(NotGiven) as error:
        hub_weights(name)
    assert len(str(error.value)) < 120


def test_the_time_is_bounded_however_slowly_the_hub_answers(hub):
    began = time.monotonic()
    with pytest.raises(NotGiven, match="could not be reached"):
        HubFiles("me/slow", seconds=0.3).text("config.json")
    assert time.monotonic() - began < 1.5
    assert hub_files.SECONDS <= 5


def test_a_token_is_for_the_hub_alone(hub, monkeypatch):
    other = serving(Hub)
    hub.elsewhere = f"http://127.0.0.1:{other.server_port}"
    monkeypatch.setenv("HF_TOKEN", "secret")
    try:
        assert hub_weights("me/moved").size == 3_000
        assert {token for *_, token in hub.asked} == {"Bearer secret"}
        assert {token for *_, token in other.asked} == {None}
    finally:
        other.shutdown()
        other.server_close()


def test_offline_means_that_nothing_is_asked(hub, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NotGiven, match="HF_HUB_OFFLINE"):
        hub_weights("me/index")
    assert hub.asked == []


def test_what_modelopt_wrote_beside_a_config_counts_wherever_the_config_is(hub, tmp_path):
    of_hub = read_command(["me/whole"], None).load()
    assert of_hub.quantization.mapping("quantization").word("quant_algo") == "FP8"
    assert read_command(["me/bare"], None).load().quantization.is_there is False
    for name in ("config.json", "hf_quant_config.json"):
        (tmp_path / name).write_bytes(FILES[f"/me/whole/resolve/main/{name}"])
    for named in (tmp_path, tmp_path / "config.json"):
        assert read_command([str(named)], None).load().values == of_hub.values
    (tmp_path / "other.json").write_bytes(FILES["/me/whole/resolve/main/config.json"])
    assert "quantization_config" not in read_command([str(tmp_path / "other.json")], None).load().values


def test_a_plan_of_a_model_on_the_hub(hub, run):
    env = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}"}
    done = run("plan", "me/whole", "--gpu", "H100", "-f", "json", env=env)
    assert done.returncode == 0, done.stderr
    memory = json.loads(done.stdout)["memory"]
    assert memory["weights_bytes"] == 16_060_522_496
    assert "model.safetensors.index.json on the hub" in memory["how"]
    bare = run("plan", "me/bare", "--gpu", "H100", "-f", "json", env=env)
    assert "computed from the config.json" in json.loads(bare.stdout)["memory"]["how"]
    assert bare.stderr.count("the weights of me/bare are not read from the hub") == 1


def test_a_config_of_the_hub_that_is_no_json_is_one_message(hub, run):
    done = run("plan", "me/text", "--gpu", "H100", env={"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}"})
    assert (done.returncode, "me/text: is no JSON" in done.stderr, "Traceback" in done.stderr) == (2, True, False)


def test_a_model_that_is_nowhere(hub):
    with pytest.raises(NotFound, match="does not give it \\(it does not exist\\); give the path"):
        located("me/nowhere")
