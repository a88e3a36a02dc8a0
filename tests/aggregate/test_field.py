"""Fields, their bytes, and the number theoretic transform."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.aggregate import FIELD_64, FIELD_128, Field
from masquerade.aggregate.xof import XofTurboShake128
from masquerade.errors import InvalidReport, ParameterError

FIELDS = st.sampled_from([FIELD_64, FIELD_128])


@given(FIELDS, st.data())
def test_prop_the_transform_is_what_the_polynomial_gives(field: Field, data: st.DataObject) -> None:
    """The transform has the values at all roots, and interpolation goes back."""
    order = 1 << data.draw(st.integers(0, 5))
    element = st.integers(0, field.modulus - 1)
    coefficients = data.draw(st.lists(element, min_size=order, max_size=order))
    values = field.transform(coefficients, order)
    for value, root in zip(values, field.roots(order), strict=True):
        powers = [pow(root, place, field.modulus) for place in range(order)]
        whole = sum(c * p for c, p in zip(coefficients, powers, strict=True))
        assert value == whole % field.modulus
    assert field.interpolate(values) == coefficients
    assert field.extend(values, 4 * order)[::4] == values


@given(FIELDS, st.data())
def test_prop_elements_go_through_bytes(field: Field, data: st.DataObject) -> None:
    """Encoded values are decoded, in exactly the stated number of bytes."""
    values = data.draw(st.lists(st.integers(0, field.modulus - 1), max_size=20))
    encoded = field.encode(values)
    assert len(encoded) == field.size * len(values)
    assert field.decode(encoded) == values


@pytest.mark.parametrize("field", [FIELD_64, FIELD_128], ids=lambda field: str(field.name))
def test_a_number_that_is_no_element_is_refused(field: Field) -> None:
    """A share has one way to be written: neither the modulus nor a loose byte is read."""
    with pytest.raises(InvalidReport, match="not below the modulus"):
        field.decode(field.modulus.to_bytes(field.size, "little"))
    with pytest.raises(InvalidReport, match=r"1 bytes were sent, expected a multiple"):
        field.decode(b"1")


def test_roots_have_their_order() -> None:
    """The principal roots are those of the draft's generator, and other orders are refused."""
    for field in (FIELD_64, FIELD_128):
        generator = pow(7, (field.modulus - 1) >> field.log_order, field.modulus)
        assert field.root(1 << field.log_order) == generator
        assert pow(field.root(8), 4, field.modulus) == field.modulus - 1
        with pytest.raises(ParameterError, match="power of two"):
            field.root(3)


def test_vectors_of_different_lengths_are_not_added() -> None:
    """A share that is cut short is an error and not a wrong sum."""
    with pytest.raises(ParameterError, match="2 and 1 elements"):
        FIELD_64.add([1, 2], [1])


def test_numbers_beyond_the_modulus_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number at or above the modulus is left out and the stream read on, in its order."""
    xof = XofTurboShake128(bytes(32), b"", b"")
    high = (2**64 - 1).to_bytes(8, "little")
    stream = iter(b"".join([high, bytes([5, *[0] * 7]), high, bytes([7, *[0] * 7])]))
    monkeypatch.setattr(
        XofTurboShake128, "next", lambda self, n: bytes(next(stream) for _ in range(n))
    )
    assert xof.next_vector(FIELD_64, 2) == [5, 7]
