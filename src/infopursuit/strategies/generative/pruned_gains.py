"""`PrunedGains`: the mutual information of queries on pruned states of yes/no variables, by compiled kernels.

They do what `FiniteGains` does: some states stand for all, single variables are ranked, the most promising queries
about several get their full gain, and the best two are compared. A history takes a fraction of a millisecond, less than
as many small products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from infopursuit.pursuit.histories import BoolArray, Histories, uniform_of
from infopursuit.pursuit.information import MutualInformation
from infopursuit.pursuit.protocols import Acquisition, Budget, Estimate
from infopursuit.pursuit.ranking import FREE, ROUGH_TIE, Ranking
from infopursuit.strategies.generative.kernels import compiled
from infopursuit.support.progress import Progress
from infopursuit.support.threads import side_by_side
from infopursuit.support.types import UNKNOWN, FloatArray

if TYPE_CHECKING:
    from infopursuit.strategies.generative.pruned import PrunedBelief, PrunedState

LN2 = np.float32(np.log(2))
ONE, TWO, ZERO = np.float32(1), np.float32(2), np.float32(0)
THIRD, FIFTH, SEVENTH, NINTH, ELEVENTH = (np.float32(1 / k) for k in (3, 5, 7, 9, 11))
NONE, ONE_ON, TWO_ON, THREE_ON, FOUR_ON = (np.uintp(k) for k in range(5))
NEGLIGIBLE = 1e-12
"""States that weigh less than this share of an average drawn one are never kept for their weight."""
ROUNDED = 1 + 1e-6
"""A weight may be this many times what it was before it was cut to a float32."""
AT_A_TIME = 16
"""Histories that one thread works on at a time."""


class PrunedGains(Acquisition[Any]):
    """The steps of `FiniteGains` on some states and some queries, in compiled loops.

    Standard errors are those of draws; for a finite model, whose states are given, they are larger than need be.
    """

    unit: ClassVar[Literal["nats"]] = "nats"
    is_exact = False
    tie = ROUGH_TIE

    def __init__(self, belief: PrunedBelief, settings: MutualInformation, costs: FloatArray | None = None) -> None:
        self.belief, self.states, self.queries, self.settings = belief, belief.states, belief.queries, settings
        self.ranking = Ranking.of(np.ones(len(self.queries)) if costs is None else costs, self.tie)
        self._widths = (self.queries.query_variables >= 0).sum(axis=1)
        self._compile()

    def _compile(self) -> None:
        """Take one step, so that the first question does not wait for the compiler."""
        with Progress("compiling kernels, the first time only", 2) as shown:
            empty, one = Histories.empty(self.queries), np.zeros(1, dtype=np.int64)
            new = empty.extend(one, one, np.full((1, self.queries.width), UNKNOWN))
            b = self.belief.update(self.belief.init(), one, new)
            shown.advance()
            self.utilities(b, new, np.ones((1, len(self.queries)), dtype=bool), Budget.unlimited(1))
            shown.advance()

    def utilities(self, b: PrunedState, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) gains; NaN for queries that are not allowed, or that screening left out."""
        rows = np.flatnonzero(allowed.any(axis=1))
        gains, errors = np.full(allowed.shape, np.nan), np.zeros(allowed.shape)
        tie = np.zeros(len(allowed), dtype=bool)
        if not len(rows):
            return Estimate(gains, errors, tie)
        some, w, closed = b.take(rows), b.weights, ~allowed[rows]
        n, settings = len(rows), self.settings
        best, error, within = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n, dtype=bool)
        mine = np.empty((n, len(self.queries)))
        uniforms = np.array([uniform_of(settings.seed, histories.key(row)) for row in rows.tolist()])
        step = max(1, min(AT_A_TIME, -(-n // 2)))

        def work(i: int) -> None:
            part: Any = slice(i * step, (i + 1) * step)
            choose(
                some.row[part], w.values, w.begin, w.end, w.blocks, w.starts, w.sums, w.totals, self.belief.bounds,
                self.states.offsets, self.states.by_state, some.seen[part], closed[part], self.queries.query_variables,
                self._widths, self.ranking.rates, settings.n_states, settings.n_screened, uniforms[part], best[part],
                error[part], within[part], mine[part],
            )  # fmt: skip

        side_by_side(work, -(-n // step))
        gains[rows], tie[rows] = mine, within
        chosen = best != UNKNOWN
        errors[rows[chosen], best[chosen]] = error[chosen]
        return Estimate(gains, errors, tie)


# ---- kernels --------------------------------------------------------------------------------------------------------


@compiled
def draw(weights, scale, blocks, starts, sums, bounds, size, uniform, buffer, states, masses):
    """`ranking.resample`: fewer states with the same law; returns how many. blocks, starts, sums: those of one row, see
    `BlockWeights`; weights: of all rows; scale * weights of the row sum to one."""
    if bounds[-1] <= size:
        n = 0
        for b in range(len(blocks)):
            low = bounds[blocks[b]]
            for s in range(bounds[blocks[b] + 1] - low):
                if weights[starts[b] + s] > 0:
                    states[n], masses[n] = low + s, weights[starts[b] + s] * scale
                    n += 1
        return n
    step, n_heavy, heavy_mass = 1.0 / size, 0, 0.0
    before, least = step, 0.05 * step
    n = _heavier(weights, scale, blocks, starts, sums, bounds, least, buffer)
    while True:
        count, mass = 0, 0.0
        for k in range(n):
            if buffer[k] > step:
                count += 1
                mass += buffer[k]
        if count > size:  # what is left for light states is within rounding, and would make too many of them heavy
            step = before
            break
        n_heavy, heavy_mass = count, mass
        if n_heavy == size:
            break
        share = max(1.0 - heavy_mass, 0.0) / (size - n_heavy)
        if share >= step * (1 - 1e-12) or share < NEGLIGIBLE / size:
            break
        before, step = step, share
        if step < least:
            least = step * 0.05
            n = _heavier(weights, scale, blocks, starts, sums, bounds, least, buffer)
    n_light = size - n_heavy
    each = max(1.0 - heavy_mass, 0.0) / max(n_light, 1)
    if each < NEGLIGIBLE / size:
        n_light = 0
    following, total, n_found, n_drawn, last = uniform * each, 0.0, 0, 0, 0
    for b in range(len(sums)):
        block = sums[b] * scale
        # weights are rounded, and sums are not: a block that weighs as much as a heavy state may hold one
        if block * ROUNDED <= step and (n_drawn == n_light or total + block <= following):
            total += block
            continue
        low, first = bounds[blocks[b]], starts[b]
        for i in range(bounds[blocks[b] + 1] - low):
            w, s = weights[first + i] * scale, low + i
            if w > step and n_found < size:
                states[n_found], masses[n_found] = s, w
                n_found += 1
            elif w > 0:
                total += w
                last = s
                while n_drawn < n_light and n_found < size and total > following:
                    states[n_found], masses[n_found] = s, each
                    n_found += 1
                    n_drawn += 1
                    following += each
    if n_drawn + 1 == n_light and n_found < size:
        states[n_found], masses[n_found] = last, each  # rounding has pushed the last point past the end
        n_found += 1
    return n_found


@compiled
def _heavier(weights, scale, blocks, starts, sums, bounds, least, buffer):
    """The weights above some value, in the buffer; returns how many."""
    n = 0
    for b in range(len(sums)):
        if sums[b] * scale > least:
            for s in range(starts[b], starts[b] + bounds[blocks[b] + 1] - bounds[blocks[b]]):
                w = weights[s] * scale
                if w > least:
                    buffer[n] = w
                    n += 1
    return n


@compiled
def sum_xlogx(values, bits):
    """Sum of x log x; bits: the same array seen as whole numbers, from which the exponent is read."""
    total = ZERO
    for i in range(len(values)):
        total += values[i] * _log(bits[i])
    return total


@compiled
def add_xlogx(values, bits, sign, into):
    """Add sign x log x, one by one."""
    for i in range(len(values)):
        into[i] += sign * values[i] * _log(bits[i])


@compiled
def _log(bits):
    """log of the positive float32 with these bits, to about 1e-7; some finite number for 0."""
    fraction = np.float32(bits & 0x7FFFFF) * np.float32(2.0**-23)
    s = fraction / (TWO + fraction)
    z = s * s
    series = ONE + z * (THIRD + z * (FIFTH + z * (SEVENTH + z * (NINTH + z * ELEVENTH))))
    return np.float32((bits >> 23) - 127) * LN2 + TWO * s * series


@compiled
def single_gains(by_state, states, masses, ends, sums, space, alone):
    """The gain of each variable alone, on the drawn states; ends: (C + 1,) where each class's draws begin."""
    n_variables = len(alone)
    bits = space.view(np.int32)
    alone[:] = ZERO
    whole, label = np.zeros(n_variables, np.float32), ZERO
    for c in range(len(ends)):  # the last time around for all classes together
        mass, sign = ZERO, ONE
        if c + 1 < len(ends):
            if ends[c] == ends[c + 1]:
                continue
            sums[:] = ZERO
            for i in range(ends[c], ends[c + 1]):
                row, w = by_state[states[i]], masses[i]
                mass += w
                for a in range(n_variables):
                    sums[a] += w * row[a]
            label += mass * np.log(mass)
            for a in range(n_variables):
                whole[a] += sums[a]
        else:
            mass, sign = ONE, -ONE
            sums[:] = whole
        for a in range(n_variables):
            space[a] = sums[a]
        add_xlogx(space, bits, sign, alone)
        for a in range(n_variables):
            space[a] = max(mass - sums[a], ZERO)
        add_xlogx(space, bits, sign, alone)
    for a in range(n_variables):
        alone[a] = max(alone[a] - label, ZERO)


@compiled
def screen(scores, promise, asked, widths, n, found):
    """The n queries about several variables with the largest scores, ties to the lowest, and the one that promises most
    at all, if it is not among them; returns how many."""
    size, largest = 0, UNKNOWN
    for q in range(len(scores)):
        if n < 1 or asked[q] or widths[q] < 2:
            continue
        if largest == UNKNOWN or promise[q] > promise[largest]:
            largest = q
        if size == n and scores[q] <= scores[found[size - 1]]:
            continue
        k = size if size < n else n - 1
        size = min(size + 1, n)
        while k > 0 and scores[found[k - 1]] < scores[q]:
            found[k] = found[k - 1]
            k -= 1
        found[k] = q
    if largest != UNKNOWN and not (found[:size] == largest).any():
        found[size] = largest
        size += 1
    return size


@compiled
def products(columns, which, start, end, n, square, table):
    """The probability of each pattern of some variables in each of n states, times what stands in the first row of the
    table; the first variable runs fastest, and patterns that cannot be fill up to four. Returns how many.

    columns: (., M) P(yes), which: (W,) those of the query's variables, from ``start`` to ``end``.
    """
    n_states, size = np.uintp(n), ONE_ON
    for k in range(start, end):
        column = np.uintp(which[k])
        for s in range(size):
            for i in range(n_states):
                v, yes = table[s, i], columns[column, i]
                no = ONE - yes
                table[size + s, i] = v * (yes * yes) if square else v * yes
                table[s, i] = v * (no * no) if square else v * no
        size += size
    table[size : max(size, FOUR_ON)] = ZERO
    return max(np.int64(size), 4)


@compiled
def contract(left, right, n_left, n_right, begin, end, joint):
    """(n_left * n_right,) sums over some states of left times right; both are multiples of four, so that each number
    that is read is used four times."""
    # indices without a sign are never taken from the end: only then do the loops use the width of the processor
    first, last, stride = np.uintp(begin), np.uintp(end), np.uintp(n_right)
    for s in range(NONE, np.uintp(n_left), FOUR_ON):
        for t in range(NONE, stride, FOUR_ON):
            ea, eb, ec, ed = ZERO, ZERO, ZERO, ZERO
            fa, fb, fc, fd = ZERO, ZERO, ZERO, ZERO
            ga, gb, gc, gd = ZERO, ZERO, ZERO, ZERO
            ha, hb, hc, hd = ZERO, ZERO, ZERO, ZERO
            for i in range(first, last):
                e, f, g, h = left[s, i], left[s + ONE_ON, i], left[s + TWO_ON, i], left[s + THREE_ON, i]
                a, b, c, d = right[t, i], right[t + ONE_ON, i], right[t + TWO_ON, i], right[t + THREE_ON, i]
                ea, eb, ec, ed = ea + e * a, eb + e * b, ec + e * c, ed + e * d
                fa, fb, fc, fd = fa + f * a, fb + f * b, fc + f * c, fd + f * d
                ga, gb, gc, gd = ga + g * a, gb + g * b, gc + g * c, gd + g * d
                ha, hb, hc, hd = ha + h * a, hb + h * b, hc + h * c, hd + h * d
            at = s * stride + t
            joint[at], joint[at + ONE_ON], joint[at + TWO_ON], joint[at + THREE_ON] = ea, eb, ec, ed
            at += stride
            joint[at], joint[at + ONE_ON], joint[at + TWO_ON], joint[at + THREE_ON] = fa, fb, fc, fd
            at += stride
            joint[at], joint[at + ONE_ON], joint[at + TWO_ON], joint[at + THREE_ON] = ga, gb, gc, gd
            at += stride
            joint[at], joint[at + ONE_ON], joint[at + TWO_ON], joint[at + THREE_ON] = ha, hb, hc, hd


@compiled
def halves(columns, which, n, masses, square, left, right):
    """The partial products of n variables, split in two. Returns both sizes."""
    left[0, : len(masses)], right[0] = masses, ONE
    n_left = products(columns, which, 0, n // 2, len(masses), square, left)
    return n_left, products(columns, which, n // 2, n, len(masses), square, right)


@compiled
def pattern_gain(columns, which, n, masses, ends, left, right, joint, whole):
    """The gain of one query about n variables: P(yes) in each state in ``columns``, draws sorted by class."""
    n_left, n_right = halves(columns, which, n, masses, False, left, right)
    size = n_left * n_right
    table, total = joint[:size], whole[:size]
    total[:] = ZERO
    terms, label = 0.0, 0.0
    for c in range(len(ends) - 1):
        if ends[c] == ends[c + 1]:
            continue
        contract(left, right, n_left, n_right, ends[c], ends[c + 1], table)
        mass = ZERO
        for k in range(size):
            mass += table[k]
            total[k] += table[k]
        terms += sum_xlogx(table, table.view(np.int32))
        label += mass * np.log(mass)
    return max(terms - sum_xlogx(total, total.view(np.int32)) - label, 0.0)


@compiled
def influence(columns, which, n, masses, ends, left, right, tables, whole, each):
    """What each draw adds to the gain of a query, its mass included; see `FiniteGains._influence`."""
    n_left, n_right = halves(columns, which, n, masses, False, left, right)
    size = n_left * n_right
    total = whole[:size]
    total[:] = ZERO
    for c in range(len(ends) - 1):
        if ends[c] < ends[c + 1]:
            contract(left, right, n_left, n_right, ends[c], ends[c + 1], tables[c, :size])
            total += tables[c, :size]
    of_total = total.view(np.int32)
    ratio, sums = np.empty(size, np.float32), np.empty(len(each), np.float32)
    for c in range(len(ends) - 1):
        begin, end = ends[c], ends[c + 1]
        if begin == end:
            continue
        table = tables[c, :size]
        bits, label = table.view(np.int32), np.log(table.sum())
        for k in range(size):
            ratio[k] = _log(bits[k]) - _log(of_total[k]) - label if table[k] > ZERO else ZERO
        each[begin:end] = ZERO
        for s in range(n_left):
            sums[begin:end] = ZERO
            for t in range(0, n_right, 4):
                e, f, g, h = right[t], right[t + 1], right[t + 2], right[t + 3]
                at = s * n_right + t
                p, q, r, u = ratio[at], ratio[at + 1], ratio[at + 2], ratio[at + 3]
                for i in range(begin, end):
                    sums[i] += p * e[i] + q * f[i] + r * g[i] + u * h[i]
            for i in range(begin, end):
                each[i] += left[s, i] * sums[i]


@compiled
def excess(columns, which, n, masses, ends, left, right, tables, whole):
    """How much too large the gain of a query is on average, after `influence` of the same; see `FiniteGains._bias`."""
    n_left, n_right = halves(columns, which, n, masses * masses, True, left, right)
    size = n_left * n_right
    squares, crossed = np.zeros((len(ends) - 1, size), np.float32), np.empty(size, np.float32)
    for c in range(len(ends) - 1):
        if ends[c] < ends[c + 1]:
            contract(left, right, n_left, n_right, ends[c], ends[c + 1], squares[c])
    halves(columns, which, n, masses * masses, False, left, right)
    bias = 0.0
    for c in range(len(ends) - 1):
        begin, end = ends[c], ends[c + 1]
        if begin == end:
            continue
        contract(left, right, n_left, n_right, begin, end, crossed)
        count, mass, table = end - begin, masses[begin:end].sum(), tables[c]
        spread = (masses[begin:end] * masses[begin:end]).sum()
        for k in range(size):
            if table[k] > ZERO:
                mean = table[k] / mass
                variance = max(squares[c, k] - TWO * mean * crossed[k] + mean * mean * spread, ZERO)
                # a single draw has no spread of its own: its square stands for it
                variance = variance * count / (count - 1) if count > 1 else squares[c, k]
                bias += variance / table[k] - variance / whole[k]
    return bias / 2


@compiled
def variance_of(terms, states, masses, ends, n_each):
    """`Particles.variance_of` what some draws add up to, their mean taken off; n_each: (C,) states of each class."""
    centre, found = terms.sum() / masses.sum(), 0.0
    for c in range(len(ends) - 1):
        total, square, mine, n = 0.0, 0.0, 0.0, n_each[c]
        for i in range(ends[c], ends[c + 1]):
            mine += terms[i] - masses[i] * centre
            if i + 1 == ends[c + 1] or states[i + 1] != states[i]:
                total, square, mine = total + mine, square + mine * mine, 0.0
        found += (square - total * total / n) * n / (n - 1) if n > 1 else total * total
    return max(found, 0.0)


@compiled
def gather(query, query_variables, seen, by_state, states, n, place, columns, n_columns, which):
    """The columns P(yes) of a query's variables that are not known yet; each is copied once. Returns how many, and how
    many columns there are now."""
    width = 0
    for variable in query_variables[query]:
        if variable < 0 or seen[variable] != UNKNOWN:
            continue
        if place[variable] < 0:
            place[variable] = n_columns
            for i in range(n):
                columns[n_columns, i] = by_state[states[i], variable]
            n_columns += 1
        which[width] = place[variable]
        width += 1
    return width, n_columns


@compiled
def choose(
    rows, weights, begin, end, blocks, starts, sums, totals, bounds, class_ends, by_state, seen, asked, query_variables,
    widths, rates, n_states, n_screened, uniforms, query, error, tie, gains,
):  # fmt: skip
    """The best query after each of some histories: see `PrunedGains` for what is written.

    rows: of each history in the weights, see `BlockWeights` for those. class_ends: (C + 1,) states. by_state: (S, A)
    P(yes). seen: (H, A). asked: (H, Q). rates: (Q,) see `Ranking`. uniforms: (H,) by which states are drawn.
    """
    n_queries, most_wide = query_variables.shape
    n_classes, n_variables, n_all = len(class_ends) - 1, by_state.shape[1], class_ends[-1]
    n_each = class_ends[1:] - class_ends[:-1]
    n_wide = min(n_screened, n_queries)
    buffer = np.empty(n_all, np.float64)
    states, exact_masses = np.empty(n_states, np.int64), np.empty(n_states, np.float64)
    single = np.empty((3, n_variables), np.float32)
    summed, space, alone = single[0], single[1], single[2]
    promise, scores, found = np.empty(n_queries, np.float32), np.empty(n_queries), np.empty(n_wide + 1, np.int64)
    n_left, n_right = max(4, 1 << (most_wide // 2)), max(4, 1 << (most_wide - most_wide // 2))
    left, right = np.empty((n_left, n_states), np.float32), np.empty((n_right, n_states), np.float32)
    tables, whole = np.empty((n_classes, n_left * n_right), np.float32), np.empty(n_left * n_right, np.float32)
    place, which = np.empty(n_variables, np.int64), np.empty(most_wide, np.int64)
    columns = np.empty((min(n_variables, (n_wide + 3) * most_wide), n_states), np.float32)
    first, second = np.empty(n_states, np.float32), np.empty(n_states, np.float32)
    for h, row in enumerate(rows):
        mine = slice(begin[row], end[row])
        n = draw(
            weights, 1.0 / totals[row], blocks[mine], starts[mine], sums[mine], bounds, n_states, uniforms[h], buffer,
            states, exact_masses,
        )  # fmt: skip
        masses, ends = exact_masses[:n].astype(np.float32), np.searchsorted(states[:n], class_ends)
        single_gains(by_state, states, masses, ends, summed, space, alone)
        for a in range(n_variables):
            if seen[h, a] != UNKNOWN:
                alone[a] = ZERO
        for q in range(n_queries):
            promise[q] = ZERO
            for w in range(widths[q]):
                promise[q] += alone[query_variables[q, w]]
            gains[h, q] = promise[q] if widths[q] == 1 and not asked[h, q] else np.nan
            scores[q] = score(promise[q], rates[q])
        n_found = screen(scores, promise, asked[h], widths, n_wide, found)
        place[:], n_columns = UNKNOWN, 0
        for k in range(n_found):
            width, n_columns = gather(
                found[k], query_variables, seen[h], by_state, states, n, place, columns, n_columns, which
            )
            gains[h, found[k]] = pattern_gain(columns, which, width, masses, ends, left, right, tables[0], whole)
        for q in range(n_queries):
            scores[q] = score(gains[h, q], rates[q])
        best, runner = leaders(scores, rates)
        query[h], error[h], tie[h] = best, 0.0, False
        if best == UNKNOWN:
            continue
        width, n_columns = gather(best, query_variables, seen[h], by_state, states, n, place, columns, n_columns, which)
        influence(columns, which, width, masses, ends, left, right, tables, whole, first)
        bias = excess(columns, which, width, masses, ends, left, right, tables, whole)
        error[h] = np.sqrt(variance_of(first[:n], states, masses, ends, n_each) + bias * bias)
        if runner == UNKNOWN:
            continue
        width, n_columns = gather(
            runner, query_variables, seen[h], by_state, states, n, place, columns, n_columns, which
        )
        influence(columns, which, width, masses, ends, left, right, tables, whole, second)
        ours, theirs = np.float32(weight(rates[best])), np.float32(weight(rates[runner]))
        for i in range(n):
            first[i] = ours * first[i] - theirs * second[i]
        apart = np.sqrt(variance_of(first[:n], states, masses, ends, n_each))
        lead = scores[best] - scores[runner]
        tie[h] = lead <= 2 * apart or lead <= ROUGH_TIE * weight(rates[best])


@compiled
def weight(rate):
    """See `Ranking.weights`."""
    return 1.0 if np.isinf(rate) else rate


@compiled
def score(gain, rate):
    """See `Ranking.scores`; not-a-number stays what it is."""
    if np.isinf(rate):
        return gain + FREE if gain > ROUGH_TIE else gain + 0.0
    return gain * rate


@compiled
def leaders(scores, rates):
    """The best query and the second best, `UNKNOWN` where there is none; see `Ranking.leaders`."""
    best = _leader(scores, rates, UNKNOWN)
    return best, _leader(scores, rates, best)


@compiled
def _leader(scores, rates, but):
    top, near = -1.0, ROUGH_TIE
    for q in range(len(scores)):
        if q != but and scores[q] > top:  # not-a-number is never larger
            top, near = scores[q], ROUGH_TIE * weight(rates[q])
    for q in range(len(scores)):
        if q != but and scores[q] >= top - near:
            return q
    return UNKNOWN
