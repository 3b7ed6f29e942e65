"""The hash map against a dictionary."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.cluster._internal.hash_map import DELETED, EMPTY, new_hash_map, rehashed, slot_of


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5), st.booleans()), max_size=200))
@settings(max_examples=50, deadline=None)
def test_entries_are_those_of_a_dictionary(steps):
    keys, values = new_hash_map(2)
    known, used = {}, 0
    for key, value, forget in steps:
        slot = slot_of(keys, key)
        if forget:
            if key in known:
                values[slot] = DELETED
                del known[key]
            continue
        used += keys[slot] == EMPTY
        keys[slot], values[slot] = key, value
        known[key] = value
        if 2 * used > len(keys):
            keys, values, used = rehashed(keys, values)
            assert used == len(known)
    for key in range(41):
        slot = slot_of(keys, key)
        found = values[slot] if keys[slot] != EMPTY else DELETED
        assert found == known.get(key, DELETED)
