"""Models for ``python -m tests.fidelity_torch``: small enough to run on real tensors, each of another kind."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

Model = tuple[nn.Module, Any]


class Function(nn.Module):
    """``function`` of a module's children and an input."""

    def __init__(self, function: Callable[..., Any], **children: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, child in children.items():
            self.add_module(name, child)

    def forward(self, *args: Any) -> Any:
        return self.function(self, *args)


def mlp() -> Model:
    return nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 8)), torch.randn(32, 64)


def cnn() -> Model:
    block = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
    return nn.Sequential(*block, nn.Dropout(0.1), nn.Flatten(), nn.Linear(72, 5)), torch.randn(4, 3, 8, 8)


def encoder() -> Model:
    return nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), torch.randn(4, 10, 32)


def tied() -> Model:
    """One matrix is embedding and output layer."""
    model = Function(lambda m, x: m.head(m.embedding(x).sin()), embedding=nn.Embedding(50, 16))
    model.head = nn.Linear(16, 50, bias=False)
    model.head.weight = model.embedding.weight
    return model, torch.randint(0, 50, (4, 12))


def unused() -> Model:
    """A layer that nobody calls has neither gradient nor update."""
    return Function(lambda m, x: m.used(x), used=nn.Linear(16, 16), other=nn.Linear(30, 30)), torch.randn(8, 16)


class Experts(nn.Module):
    """The two best of four experts for every token, as batched matrix products."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(16, 4)
        self.up, self.down = nn.Parameter(torch.randn(4, 16, 32)), nn.Parameter(torch.randn(4, 32, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = self.router(x).softmax(-1).topk(2, dim=-1)
        token = x.unsqueeze(1).expand(-1, 2, -1).reshape(-1, 1, x.shape[-1])
        hidden = torch.bmm(token, self.up[chosen.flatten()]).relu()
        result = torch.bmm(hidden, self.down[chosen.flatten()]).view(len(x), 2, -1)
        return (result * weights.unsqueeze(-1)).sum(1)


class Attention(nn.Module):
    """Self-attention through ``scaled_dot_product_attention``."""

    def __init__(self, causal: bool = False, mask: bool = False) -> None:
        super().__init__()
        self.project, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.causal = causal
        self.register_buffer("mask", torch.ones(10, 10).tril().bool() if mask else None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.project(x).view(*x.shape[:2], 3, 4, 8).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=self.mask, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


def recurrent(kind: type[nn.RNNBase], **options: Any) -> Model:
    return Function(lambda m, x: m.cell(x)[0], cell=kind(16, 24, 2, **options)), torch.randn(7, 4, 16)


def recomputed() -> Model:
    """Every block is run again for its gradient."""
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)) for _ in range(4))

    def function(module: Function, x: torch.Tensor) -> torch.Tensor:
        for block in module.blocks:
            x = x + checkpoint(block, x, use_reentrant=False)
        return x

    return Function(function, blocks=blocks), torch.randn(64, 32)


def spectrum() -> Model:
    """Complex numbers: a filter in the frequency domain."""
    model = Function(lambda m, x: torch.fft.irfft(torch.fft.rfft(m.linear(x)) * m.filter), linear=nn.Linear(16, 16))
    model.filter = nn.Parameter(torch.randn(9, dtype=torch.complex64))
    return model, torch.randn(64, 16)


def cache() -> Model:
    """Keys and values of a new token go into a buffer, which attention then reads."""

    def function(module: Function, x: torch.Tensor) -> torch.Tensor:
        module.keys[:, 3] = module.project(x)
        return torch.softmax(module.keys @ x.unsqueeze(-1), 1).sum(-1)

    model = Function(function, project=nn.Linear(16, 16))
    model.register_buffer("keys", torch.randn(4, 64, 16))
    return model, torch.randn(4, 16)


def torchvision(name: str, size: int, **options: Any) -> Model:
    from regal.frontends.zoo import import_torchvision

    import_torchvision()
    from torchvision.models import get_model

    return get_model(name, weights=None, **options), torch.randn(2, 3, size, size)


def timm(name: str, size: int, **options: Any) -> Model:
    from regal.frontends.zoo import import_torchvision

    import_torchvision()
    from timm import create_model

    return create_model(name, **options), torch.randn(2, 3, size, size)


def transformers(model_type: str, **fields: Any) -> Model:
    """A small model with real weights; the inputs are zeros, which every vocabulary has."""
    from regal.frontends.huggingface import build

    shapes, inputs = build(model_type, batch=2, sequence=16, **fields)
    real: Any = type(shapes)
    return real(shapes.config), {name: torch.zeros_like(tensor, device="cpu") for name, tensor in inputs.items()}


BERT = {"hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128, "num_hidden_layers": 2}
DECODER = {**BERT, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 500}

HAND_WRITTEN: Mapping[str, Callable[[], Model]] = {
    "mlp": mlp,
    "cnn": cnn,
    "encoder": encoder,
    "tied": tied,
    "unused": unused,
    "experts": lambda: (Experts(), torch.randn(10, 16)),
    "attention": lambda: (Attention(), torch.randn(4, 10, 32)),
    "attention.causal": lambda: (Attention(causal=True), torch.randn(4, 10, 32)),
    "attention.mask": lambda: (Attention(mask=True), torch.randn(4, 10, 32)),
    "lstm": partial(recurrent, nn.LSTM),
    "lstm.bidirectional": partial(recurrent, nn.LSTM, bidirectional=True),
    "gru": partial(recurrent, nn.GRU),
    "recomputed": recomputed,
    "spectrum": spectrum,
    "cache": cache,
}
"""Name -> model and inputs; these take a moment."""
UNLIKE = ("cache",)
"""A write into a part of a buffer is recorded by way of a copy of that part, which real kernels lay out with gaps."""
PACKAGED: Mapping[str, Callable[[], Model]] = {
    "torchvision.resnet18": partial(torchvision, "resnet18", 64),
    "torchvision.mobilenet_v3_small": partial(torchvision, "mobilenet_v3_small", 64),
    "torchvision.densenet121": partial(torchvision, "densenet121", 64),
    "torchvision.squeezenet1_1": partial(torchvision, "squeezenet1_1", 64),
    "torchvision.shufflenet_v2_x0_5": partial(torchvision, "shufflenet_v2_x0_5", 64),
    "torchvision.googlenet": partial(torchvision, "googlenet", 96, init_weights=False),
    "torchvision.efficientnet_b0": partial(torchvision, "efficientnet_b0", 64),
    "timm.convnext_atto": partial(timm, "convnext_atto", 64),
    "timm.vit_tiny_patch16_224": partial(timm, "vit_tiny_patch16_224", 64, img_size=64, depth=3),
    "timm.mixer_s32_224": partial(timm, "mixer_s32_224", 64, img_size=64),
    "timm.swin_tiny_patch4_window7_224": partial(timm, "swin_tiny_patch4_window7_224", 56, img_size=56),
    "timm.nf_resnet26": partial(timm, "nf_resnet26", 64),
    "transformers.bert": partial(transformers, "bert", **BERT),
    "transformers.gpt2": partial(transformers, "gpt2", n_embd=64, n_layer=2, n_head=4),
    "transformers.t5": partial(transformers, "t5", d_model=64, d_ff=128, num_layers=2, num_decoder_layers=2),
    "transformers.llama": partial(transformers, "llama", **DECODER),
    "transformers.mixtral": partial(transformers, "mixtral", **DECODER, num_local_experts=4),
    "transformers.vit": partial(transformers, "vit", **BERT, image_size=64),
    "transformers.mamba": partial(transformers, "mamba", hidden_size=64, num_hidden_layers=2, vocab_size=500),
    "transformers.wav2vec2": partial(transformers, "wav2vec2", **BERT),
    "transformers.albert": partial(transformers, "albert", **BERT, embedding_size=32),
}
"""The same from packages, which have to be installed."""
MODELS = {**HAND_WRITTEN, **PACKAGED}
