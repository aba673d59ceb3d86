"""`align` up to 0.28: allocation, reshape and alignment of the engine's own, watched.

The reshape runs twice on fresh tensors, once with the alignment replaced by a recorder and once untouched. Each
allocation is then aligned by itself, so that a refusal of one does not hide the others. Nothing is inferred.
"""

import copy

import torch

from bridge import report, views
from bridge.failures import Refused, reason
from bridge.setting import Recorder, Setting, replaced

STEPS = ("_align_mixed_attention_kv_cache_views", "_update_hybrid_attention_layout")
"""The functions that align, by release."""
RESTRIDE = "_restride_blocks_first_kv_cache_to_kv_first_storage"


class Watch:
    """A run of the engine's with its log and its restriding kept."""

    def __init__(self, utils, function):
        self.recorder, self.events, self.error = Recorder(), [], None
        self.restride = getattr(utils, RESTRIDE, None)
        with replaced(utils, logger=self.recorder, **{RESTRIDE: self.restrided}):
            try:
                function()
            except Exception as error:
                self.error = error

    def restrided(self, tensor):
        """Restride, and note what was said and whether it was refused."""
        said, refused = len(self.recorder.messages), True
        try:
            self.restride(tensor)
            refused = False
        finally:
            warned = len(self.recorder.messages) > said
            self.events.append((tensor, "refused" if refused else "skipped" if warned else None))


class Older(Setting):
    """The engine's objects, and its views."""

    def views(self, aligned):
        """Fresh views; where they are not aligned, the alignment's calls are kept in `called`."""
        self.called = []
        recorders = {name: self.kept(name) for name in STEPS}
        with replaced(self.utils, **({} if aligned else recorders)):
            raw = self.at(
                "allocate", lambda: self.utils._allocate_kv_cache(self.planned, self.aliases(), torch.device("cpu"))
            )
            return self.at("reshape", lambda: self.reshaped(raw))

    def kept(self, name):
        """A recorder in place of a step."""
        return lambda *arguments, **more: self.called.append((name, arguments, more))

    def reshaped(self, raw):
        """The views on raw tensors."""
        return self.utils._reshape_kv_cache(
            attn_groups=self.flat,
            kv_cache_raw_tensors=raw,
            cache_dtype=self.document.get("cache_dtype", "auto"),
            kernel_block_sizes=self.kernel_block_sizes,
            shared_kv_cache_layers=self.aliases(),
            kv_cache_config=self.planned,
        )

    def aliases(self):
        """Layers that share another's cache."""
        return self.utils.get_shared_kv_cache_layers(self.config)

    def kernel_blocks(self, spec, group, kernel_block_size):
        """How many kernel blocks of a view make one block of the manager."""
        return spec.storage_block_size // kernel_block_size

    def backing(self):
        """Bytes of the one allocation of all layers; None where each tensor has its own."""

    def observed(self):
        """What the engine did, as `report` takes it."""
        before = self.views(aligned=False)
        steps = list(self.called)
        holder = {}
        watch = Watch(self.utils, lambda: holder.update(self.views(aligned=True)))
        if isinstance(watch.error, Refused) and watch.error.stage == "allocate":
            raise watch.error
        error = watch.error.error if isinstance(watch.error, Refused) else watch.error
        outcome = [self.aligned_alone(tensor, steps) for tensor in self.planned.kv_cache_tensors]
        alone = {name: view for entry in outcome for name, view in entry["views"].items()}
        after = alone if error is not None else agreed(holder, alone)
        page_aligned = {name for _, _, more in steps for name in more.get("page_aligned_layers") or ()}
        return report.Observed(before, after, error, outcome, watch.recorder.messages, page_aligned)

    def aligned_alone(self, tensor, steps):
        """The alignment of one allocation: its views, what became of each layer, and its refusal."""
        made = self.views(aligned=False)
        mine = {name: view for name, view in made.items() if name in tensor.shared_by}
        old = {name: views.strides(view) for name, view in mine.items()}
        entry = {"views": mine, "layers": {}, "error": None}
        if steps:
            name, arguments, more = steps[0]
            align = self.mixed if name == STEPS[0] else self.hybrid
            align(entry, tensor, getattr(self.utils, name), arguments, {**more, "kv_caches": made})
        return with_moves(entry, old)

    def mixed(self, entry, tensor, step, arguments, more):
        """The step over a configuration of one tensor."""
        alone = copy.copy(self.planned)
        alone.kv_cache_tensors = [tensor]
        names = {id(view): name for name, view in entry["views"].items() if isinstance(view, torch.Tensor)}
        watch = Watch(self.utils, lambda: step(*arguments, **{**more, "kv_cache_config": alone}))
        entry["layers"] |= {names[id(view)]: became for view, became in watch.events}
        entry["error"] = watch.error

    def hybrid(self, entry, tensor, step, arguments, more):
        """The step layer by layer."""
        for name, view in entry["views"].items():
            if name not in self.group_of_layer:
                continue
            one = copy.copy(self.group_of_layer[name])
            one.layer_names = [name]
            alone = {**more, "attn_groups": [one], "kv_caches": {name: view}}
            watch = Watch(self.utils, lambda alone=alone: step(*arguments, **alone))
            if watch.error is not None:
                entry["layers"][name], entry["error"] = "refused", watch.error


def with_moves(entry, old):
    """An entry in which layers of which nothing was said are restrided or unchanged, by their strides."""
    for name, view in entry["views"].items():
        moved = old[name] != views.strides(view)
        if entry["layers"].get(name) is None:
            entry["layers"][name] = "restrided" if moved else "unchanged"
        elif moved:
            raise AssertionError(f"{name} is {entry['layers'][name]}, and moved")
    return entry


def agreed(whole, alone):
    """The views of the whole sequence, which are those of the allocations one by one."""
    for name, view in whole.items():
        if views.strides(view) != views.strides(alone.get(name, view)):
            raise AssertionError(f"{name} is aligned otherwise alone than with the others")
    return whole


def answer(document, kind=Older):
    """The answer to a document."""
    layout = {}
    try:
        setting = kind(document)
        layout = {"kv_cache_layout": setting.layout}
        return {**layout, **report.report(setting, setting.observed())}
    except Refused as refused:
        return {**layout, **views.refusal(refused.stage, reason(refused.error))}
