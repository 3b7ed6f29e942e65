"""The equations of the paper for one sub-graph, one number at a time, in float64: what the tests compare with.

x is a list of rows, real a list of bool; weights are nested lists. Nothing here knows the package.
"""

import math


def dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


def unit(row):
    length = math.sqrt(dot(row, row))
    return [value / length for value in row] if length > 0 else list(row)


def matmul(a, b):
    return [[sum(row[m] * b[m][j] for m in range(len(b))) for j in range(len(b[0]))] for row in a]


def transpose(a):
    return [list(column) for column in zip(*a, strict=True)]


def cosines(x, real, floor=None):
    units = [unit(row) for row in x]
    result = [[0.0] * len(x) for _ in x]
    for i in range(len(x)):
        for j in range(len(x)):
            if real[i] and real[j]:
                result[i][j] = dot(units[i], units[j]) if floor is None else max(floor, dot(units[i], units[j]))
    return result


def self_scores(x, query, key):
    """One head: query and key are (M, width of the head)."""
    q, k = matmul(x, query), matmul(x, key)
    return [[dot(q[i], k[j]) / math.sqrt(len(query[0])) for j in range(len(x))] for i in range(len(x))]


def quartet_scores(tests, query, key, normalize):
    if normalize == "adjacency":
        tests = [unit(row) for row in tests]
    q, k = matmul(tests, query), matmul(tests, key)
    if normalize == "qk":
        q, k = [unit(row) for row in q], [unit(row) for row in k]
    return [[dot(q[i], k[j]) for j in range(len(k))] for i in range(len(q))]


def without_padding(matrix, real):
    return [[value if real[i] and real[j] else 0.0 for j, value in enumerate(row)] for i, row in enumerate(matrix)]


def gcn_weights(x, real):
    linked = cosines(x, real)
    linked = [[1.0 if i == j else max(0.0, c) for j, c in enumerate(row)] for i, row in enumerate(linked)]
    degree = [sum(row) for row in linked]
    return [
        [c / math.sqrt(degree[i]) / math.sqrt(degree[j]) for j, c in enumerate(row)] for i, row in enumerate(linked)
    ]


def softmax(row, real):
    powers = [math.exp(value) if known else 0.0 for value, known in zip(row, real, strict=True)]
    return [power / sum(powers) for power in powers]


def carried_over(weight, served):
    """The weight (size, size) for `served` rows: D = W - I interpolated over the neighbours' ranks, plus I."""
    size = len(weight)
    known, wanted = size - 1, served - 1
    reach = max(1.0, known / wanted)
    share = [[0.0] * size for _ in range(served)]
    share[0][0] = 1.0
    for i in range(wanted):
        middle = min(max((i + 0.5) * known / wanted - 0.5, 0.0), known - 1.0)
        hat = [max(0.0, 1.0 - abs(j - middle) / reach) for j in range(known)]
        for j in range(known):
            share[i + 1][j + 1] = hat[j] / sum(hat) * math.sqrt(known / wanted)
    result = [[float(i == j) for j in range(served)] for i in range(served)]
    for i in range(served):
        for j in range(served):
            for a in range(size):
                for b in range(size):
                    result[i][j] += share[i][a] * (weight[a][b] - float(a == b)) * share[j][b]
    return result


def layer_norm(row):
    mean = sum(row) / len(row)
    variance = sum((value - mean) ** 2 for value in row) / len(row)
    return [(value - mean) / math.sqrt(variance + 1e-5) for value in row]


def gelu(value):
    return value * 0.5 * (1 + math.erf(value / math.sqrt(2)))
