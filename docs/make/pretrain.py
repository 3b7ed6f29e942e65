"""Train the kinship network that the package ships, on generated sets only: python docs/make/pretrain.py (2 min)."""

import sys

import numpy as np
import torch
from safetensors.torch import save_file

import kinfolk as kf
from kinfolk._core.files import replacing
from research.varied_sets import varied
from kinfolk.features import unit_rows
from kinfolk.kinship.network import SHIPPED, Kinship
from research.kinship_training import Edges, edges, kinship_loss, standardise

SETS, STEPS, RATE = 300, 4000, 3e-3
WORTH_LEARNING = (0.35, 0.97)  # share of same-class edges at k: below it there is only noise, above it nothing to do


def one_set(seed: int) -> Edges | None:
    fs = varied(seed)
    X = unit_rows(fs)
    X = X - X.mean(axis=0)
    rng = np.random.default_rng(seed)
    k = int(np.clip(len(fs) / len(np.unique(fs.labels)) * rng.uniform(0.3, 1.3), 3, min(192, len(fs) // 4)))
    g = kf.knn_graph(X, k=min(2 * k, len(fs) - 1), show_progress=False)
    kin = 1 - kf.metrics.edge_noise_rate(g.restrict(max(1, k // 2)), fs.labels)
    if not WORTH_LEARNING[0] < kin < WORTH_LEARNING[1]:
        return None
    return edges(g, fs.labels, k, rng.permutation(len(fs))[: 400_000 // g.k])


def main() -> None:
    torch.manual_seed(0)
    sets: list[Edges] = []
    seed = 0
    while len(sets) < SETS:
        seed += 1
        found = one_set(seed)
        sets += [found] if found else []
    print(f"{len(sets)} sets of {seed}, {sum(e.same.size for e in sets):,} edges", flush=True)
    net = Kinship()
    standardise(net, sets)
    optimizer = torch.optim.AdamW(net.parameters(), RATE, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, STEPS)
    rng = np.random.default_rng(0)
    recent: list[float] = []
    for step in range(STEPS):
        loss = kinship_loss(net, sets, rng)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        recent.append(loss.item())
        if step % 500 == 499:
            print(step + 1, round(float(np.mean(recent[-500:])), 4), flush=True)
    target = sys.argv[1] if len(sys.argv) > 1 else SHIPPED
    with replacing(target, force=True) as temporary:
        save_file(net.state_dict(), temporary)


if __name__ == "__main__":
    main()
