"""Encrypted integers: every operator against NumPy's, and what is refused."""

import pickle

import numpy as np
import pytest

import girih
from girih import errors, integer

A = {"uint8": [7, 200, 13, 0], "int8": [7, -100, -128, 127], "uint16": [700, 50, 0, 65535]}
B = {"uint8": [5, 100, 13, 3], "int8": [-5, 100, -1, 3], "uint16": [5, 51, 9, 2]}


@pytest.fixture(params=A)
def pair(request, integer_client, integer_server):
    """Two arrays in the plain, and encrypted on the device."""
    a, b = (np.array(values[request.param], request.param) for values in (A, B))
    encrypted = [integer_server.upload(integer_client.encrypt_integers(x)) for x in (a, b)]
    return a, b, *encrypted


def test_arrays_keep_their_shape_and_type(integer_client):
    for dtype in ("bool", "uint8", "int8", "uint32", "uint64"):
        values = np.array([[1, 0, 1], [0, 1, 1]], dtype)
        encrypted = integer_client.encrypt_integers(values)
        assert (encrypted.shape, encrypted.dtype) == ((2, 3), dtype)
        back = integer_client.decrypt_integers(encrypted)
        assert back.dtype == dtype and np.array_equal(back, values)
    # What nobody chose is not taken.
    for values in ([1, -2], np.array([1, -2])):
        with pytest.raises(TypeError, match="name the narrowest"):
            integer_client.encrypt_integers(values)
    for dtype in ("int64", np.int64, np.dtype("int64"), int):
        assert integer_client.encrypt_integers([1, -2], dtype).dtype == "int64"
    assert integer_client.encrypt_integers(np.int16(-3)).shape == ()
    assert integer_client.decrypt_integers(integer_client.encrypt_integers(np.int16(-3))) == -3


def test_widths_that_numpy_lacks(integer_client):
    for dtype, values in (
        ("uint4", [0, 15]), ("int4", [-8, 7]), ("uint128", [2**127 + 5, 3]),
        ("int128", [-(2**100)]), ("uint160", [2**160 - 1, 2**130, 0]),
        ("int160", [-(2**159), 2**159 - 1]), ("uint256", [2**256 - 1, 7]),
        ("int256", [-(2**255), -1, 2**200]),
    ):  # fmt: skip
        encrypted = integer_client.encrypt_integers(values, dtype)
        assert encrypted.dtype == dtype
        assert integer_client.decrypt_integers(encrypted).tolist() == values


def test_numbers_of_chains(integer_client, integer_server):
    """Amounts of 256 bits and accounts of 160: ints of Python, which have no limit."""
    read = integer_client.decrypt_integers
    amount, account = 2**255 + 2**130 + 9, 0xDEADBEEF00112233445566778899AABBCCDDEEFF
    with integer_server:
        x = integer_client.encrypt_integers([amount, 5], "uint256")
        assert read(x + (2**255)).tolist() == [2**130 + 9, 2**255 + 5]
        assert read(x - 6).tolist() == [amount - 6, 2**256 - 1]
        assert read(x > 2**200).tolist() == [True, False]
        assert read((x < 2**300) & (x > -1)).tolist() == [True, True]
        assert read(x >> 130).tolist() == [amount >> 130, 0]
        assert read(x << 256).tolist() == [0, 0]
        assert read(x << [1, 256]).tolist() == [2**131 + 18, 0]
        assert read(x.rotate_left(3)).tolist() == [(amount << 3) % 2**256 + 4, 40]
        accounts = integer_client.encrypt_integers([account, 1], "uint160")
        assert read(accounts == account).tolist() == [True, False]
        assert read(accounts.is_in([account, 2**159])).tolist() == [True, False]
        beside, found = accounts.match_value({account: 2**250}, "uint256")
        assert read(beside).tolist() == [2**250, 0] and read(found).tolist() == [True, False]
        assert read(accounts.astype("uint32")).tolist() == [0xCCDDEEFF, 1]
        assert read(accounts.astype("int256")).tolist() == [account, 1]
        signed = integer_client.encrypt_integers([-(2**150), 3], "int160")
        assert read(-signed).tolist() == [2**150, -3]
        assert read(abs(signed)).tolist() == [2**150, 3]
        for wrong in (2**256, -1):
            with pytest.raises(errors.MismatchError, match="does not fit"):
                x + wrong
    with pytest.raises(errors.MismatchError, match="does not fit"):
        integer_client.encrypt_integers([2**159], "int160")


def test_random_numbers_repeat_and_differ(integer_client, integer_server):
    read = integer_client.decrypt_integers
    draw = integer_server.generate_oblivious_pseudo_random
    drawn = draw((4, 8), "uint8", bytes(32))
    assert (drawn.shape, drawn.dtype) == ((4, 8), "uint8")
    values = read(drawn)
    assert np.array_equal(values, read(draw((4, 8), "uint8", bytes(32))))
    assert not np.array_equal(values, read(draw((4, 8), "uint8", bytes([1]) * 32)))
    assert len(np.unique(values)) > 16
    assert read(draw(64, "uint16", bytes(32), 3)).max() < 8
    flags = read(draw(64, "bool", bytes(32)))
    assert 10 < flags.sum() < 54
    assert (read(draw(8, "int8", bytes(32), bits=0)) == 0).all()
    dice = read(draw(64, "uint8", bytes(32), below=6, log2_distance=10))
    assert set(dice) == set(range(6))
    for kind, arguments, part in (
        ("int8", {"below": 6}, "unsigned"), ("uint8", {"below": 0}, "takes 1 to 256"),
        ("uint8", {"below": 257}, "FheUint8, which"),
        ("uint8", {"below": 6, "bits": 3}, "one of them"),
        ("uint8", {"below": 6, "log2_distance": 300}, "from 0 to 256"),
    ):  # fmt: skip
        with pytest.raises(errors.MismatchError, match=part):
            draw(3, kind, bytes(32), **arguments)
    for arguments, part in (
        ((3, "int8", bytes(32), 8), "below the sign"), ((3, "uint8", bytes(32), 9), "from 0 to 8"),
        ((3, "bool", bytes(32), 2), "has one"), ((0, "uint8", bytes(32)), "no random numbers"),
    ):  # fmt: skip
        with pytest.raises(errors.MismatchError, match=part):
            draw(*arguments)
    with pytest.raises(ValueError, match="32 bytes"):
        draw(3, "uint8", b"short")


def test_arithmetic_wraps_around(pair, integer_client):
    a, b, x, y = pair
    read = integer_client.decrypt_integers
    with np.errstate(over="ignore"):
        assert np.array_equal(read(x + y), a + b)
        assert np.array_equal(read(x - y), a - b)
        assert np.array_equal(read(x * y), a * b)
        assert np.array_equal(read(-x), -a)
        assert np.array_equal(read(3 - x), a.dtype.type(3) - a)
        assert np.array_equal(read(x + b), a + b)
        assert np.array_equal(read(2 + x), a + a.dtype.type(2))
    assert np.array_equal(read(~x), ~a)
    assert np.array_equal(read(abs(x)), np.abs(a))
    assert np.array_equal(read(x & y), a & b)
    assert np.array_equal(read(1 | x), a | 1)
    assert np.array_equal(read(x ^ y), a ^ b)
    assert np.array_equal(read(x << 1), a << 1)
    assert np.array_equal(read(x >> 2), a >> 2)


def test_comparisons_are_encrypted_and_choose(pair, integer_client):
    a, b, x, y = pair
    read = integer_client.decrypt_integers
    for got, want in (
        (x < y, a < b), (x <= y, a <= b), (x > y, a > b), (x >= 7, a >= 7), (x == y, a == b),
        (x != 7, a != 7),
    ):  # fmt: skip
        assert got.dtype == "bool" and np.array_equal(read(got), want)
    assert np.array_equal(read((x > y).select(x, 1)), np.where(a > b, a, a.dtype.type(1)))
    assert np.array_equal(read(x.minimum(y)), np.minimum(a, b))
    assert np.array_equal(read(x.maximum(y)), np.maximum(a, b))
    low, high = x < 8, y > 4
    assert np.array_equal(read(low & high), (a < 8) & (b > 4))
    assert np.array_equal(read(low | ~high), (a < 8) | ~(b > 4))
    assert np.array_equal(read(low == high), (a < 8) == (b > 4))
    assert np.array_equal(read(low.astype("uint4")), (a < 8).astype(int))


def test_quotients(integer_client, integer_server):
    read = integer_client.decrypt_integers
    a, b = np.array([200, 7], np.uint8), np.array([7, 0], np.uint8)
    x, y = (integer_client.encrypt_integers(v) for v in (a, b))
    with integer_server:
        # By 0: all ones, and the dividend.
        assert read(x // y).tolist() == [28, 255] and read(x % y).tolist() == [4, 7]
        assert read(x // 9).tolist() == [22, 0]
        signed = integer_client.encrypt_integers(np.array([-7], np.int8))
        quotient, remainder = signed.div_rem(2)
        assert (read(quotient)[0], read(remainder)[0]) == (-3, -1)
        with pytest.raises(TypeError, match="div_rem"):
            signed // 2


def test_moves_casts_and_overflow(integer_client, integer_server):
    read = integer_client.decrypt_integers
    a = np.array([0x81, 3], np.uint8)
    with integer_server:
        x = integer_client.encrypt_integers(a)
        by = integer_client.encrypt_integers([1, 2], "uint4")
        assert read(x << by).tolist() == [0x02, 12]
        assert read(x.rotate_left(1)).tolist() == [0x03, 6]
        assert read(x.rotate_right(by)).tolist() == [0xC0, 0xC0]
        assert read(x.astype("uint16")).tolist() == [0x81, 3]
        assert read(x.astype("int8")).tolist() == [-127, 3]
        assert read(x.astype("int4")).tolist() == [1, 3]
        total, over = x.overflowing_add(200)
        assert read(total).tolist() == [73, 203] and read(over).tolist() == [True, False]
        assert read(x.overflowing_sub(4)[1]).tolist() == [False, True]
        assert read(x.overflowing_mul(2)[1]).tolist() == [True, False]


def test_counts_of_bits(integer_client, integer_server):
    read = integer_client.decrypt_integers
    with integer_server:
        x = integer_client.encrypt_integers(np.array([0, 1, 0x58, 0xFF], np.uint8))
        assert x.count_ones().dtype == "uint32"
        assert read(x.count_ones()).tolist() == [0, 1, 3, 8]
        assert read(x.count_zeros()).tolist() == [8, 7, 5, 0]
        assert read(x.leading_zeros()).tolist() == [8, 7, 1, 0]
        assert read(x.leading_ones()).tolist() == [0, 0, 0, 8]
        assert read(x.trailing_zeros()).tolist() == [8, 0, 3, 0]
        assert read(x.trailing_ones()).tolist() == [0, 1, 0, 8]
        log, good = x.checked_ilog2()
        assert read(log).tolist() == [0, 0, 6, 7] and read(good).tolist() == [False] + 3 * [True]
        with pytest.raises(errors.MismatchError, match="conditions have"):
            (x == 1).count_ones()


def test_checked_results_and_tables(integer_client, integer_server):
    read = integer_client.decrypt_integers
    with integer_server:
        x = integer_client.encrypt_integers(np.array([200, 7, 0], np.uint8))
        total, good = x.checked_add(100)
        assert read(total).tolist() == [44, 107, 100]
        assert read(good).tolist() == [False, True, True]
        assert read(x.checked_sub(7)[1]).tolist() == [True, True, False]
        assert read(x.checked_mul(x)[1]).tolist() == [False, True, True]
        quotient, remainder, good = (x * 0 + 9).checked_div_rem(x)
        assert read(quotient).tolist() == [0, 1, 255] and read(remainder).tolist() == [9, 2, 9]
        assert read(good).tolist() == [True, True, False]
        with pytest.raises(errors.MismatchError, match="known number 0"):
            x.checked_div_rem(0)
        assert read(x.is_in([0, 200, 300])).tolist() == [True, False, True]
        assert not read(x.is_in([-1])).any()
        value, found = x.match_value({7: 70, 0: 1000}, dtype="uint16")
        assert read(value).tolist() == [0, 70, 1000]
        assert read(found).tolist() == [False, True, True]
        with pytest.raises(errors.MismatchError, match="same sign"):
            x.match_value({7: 70}, dtype="int16")


def test_places_bytes_and_pickles(integer_client, integer_server):
    values = np.array([[1, 2, 3], [4, 5, 6]], np.uint8)
    x = integer_client.encrypt_integers(values)
    assert (x.device, x.key_id, len(x)) == (None, integer_client.key_id, 2)
    assert np.array_equal(integer_client.decrypt_integers(x[:, 1:]), values[:, 1:])
    assert np.array_equal(integer_client.decrypt_integers(x[-1]), values[-1])
    there = x.to_device(integer_server)
    assert there.device == "cpu" and there.to_host().device is None
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        back = pickle.loads(pickle.dumps(there, protocol))
        assert back.shape == (2, 3)
        assert np.array_equal(integer_client.decrypt_integers(back), values)
    back = integer.Ciphertexts.from_bytes(x.to_bytes(), (3, 2))
    assert np.array_equal(integer_client.decrypt_integers(back), values.reshape(3, 2))
    with pytest.raises(errors.PickleError):
        pickle.dumps(integer_server)
    before = integer_server.look_ups
    with integer_server:
        (there > 3).to_host()
    integer_server.synchronize()
    assert integer_server.look_ups > before
    assert "uint8 on cpu" in repr(there)


def test_shifts_are_those_of_numpy(pair, integer_client, integer_server):
    a, _, x, _ = pair
    read, width = integer_client.decrypt_integers, a.dtype.itemsize * 8
    for by in (0, 3, width - 1, width, width + 1, 200):
        assert np.array_equal(read(x << by), a << np.array(by, a.dtype) if by < 128 else a * 0)
        assert np.array_equal(read(x >> by), a >> min(by, width - 1) if a.dtype.kind == "i"
                              else a >> by if by < width else a * 0)  # fmt: skip
    by = np.array([1, width - 1, width, 200], np.uint8)
    left = np.where(by < width, a << (by % width).astype(a.dtype), a.dtype.type(0))
    last = np.minimum(by, width - 1).astype(a.dtype)
    right = a >> last if a.dtype.kind == "i" else np.where(by < width, a >> last, 0)
    for amounts in (by, integer_client.encrypt_integers(by)):
        assert np.array_equal(read(x << amounts), left)
        assert np.array_equal(read(x >> amounts), right)
    # Rotations are modulo the width, however large the amount.
    assert np.array_equal(read(x.rotate_left(2**70 + 1)), read(x.rotate_left(2**70 % width + 1)))
    with pytest.raises(TypeError, match="not negative"):
        x << -1
    with pytest.raises(TypeError, match="not negative"):
        x << [1, -1, 1, 1]
    with integer_server:
        amounts = integer_client.encrypt_integers([0, 3, 8, 9], "uint8")
        assert read(2 << amounts).tolist() == [2, 16, 0, 0]
        assert read(np.array([200, 200, 7, 7], np.uint8) >> amounts).tolist() == [200, 25, 0, 0]


def test_comparisons_with_numbers_out_of_range(pair, integer_client, integer_server):
    a, _, x, _ = pair
    read = integer_client.decrypt_integers
    wide = a.astype(object)
    for c in (300, -300, 2**70, -(2**70), 70_000):
        for got, want in (
            (x > c, wide > c), (x >= c, wide >= c), (x < c, wide < c), (x <= c, wide <= c),
            (x == c, wide == c), (x != c, wide != c),
        ):  # fmt: skip
            assert np.array_equal(read(got), want.astype(bool))
    # Elements on the edge of the range, beside numbers beyond it.
    info = np.iinfo(a.dtype)
    others = np.array([info.max, info.max + 1, info.min, info.min - 1], object)
    edge = np.array([info.max, info.max, info.min, info.min], object)
    for values in (wide, edge):
        y = integer_client.encrypt_integers(values, a.dtype).to_device(integer_server)
        for got, want in ((y < others, values < others), (y >= others, values >= others),
                          (y == others, values == others)):  # fmt: skip
            assert np.array_equal(read(got), want.astype(bool))
    with pytest.raises(TypeError, match="whole numbers"):
        x > 1.5


def test_shapes_broadcast(integer_client, integer_server):
    read = integer_client.decrypt_integers
    a, b = np.array([[1], [20], [200]], np.uint8), np.array([3, 9], np.uint8)
    x, y = integer_client.encrypt_integers(a), integer_client.encrypt_integers(b)
    with integer_server:
        assert np.array_equal(read(x + y), a + b)
        assert np.array_equal(read(x * b), a * b)
        assert np.array_equal(read(a - y), a - b)
        assert np.array_equal(read(x < y), a < b)
        assert np.array_equal(read((x < y).select(x, y)), np.where(a < b, a, b))
        assert np.array_equal(read(x + np.uint8(5)), a + 5)
        single = integer_client.encrypt_integers(np.uint8(7))
        assert read(single + y).tolist() == [10, 16] and read(single + 1) == 8
        with pytest.raises(errors.MismatchError, match="do not go together"):
            y + [1, 2, 3]
        # On the device as well, where elements are copied.
        there = (x + y).to_device(integer_server)
        assert np.array_equal(read(there[1:, ::-1]), (a + b)[1:, ::-1]) and there[0].device
        assert np.array_equal(read(there.reshape(2, -1)), (a + b).reshape(2, -1))
        assert read(there[2, 1]) == 209


def test_known_operands_on_the_left(integer_client, integer_server):
    read = integer_client.decrypt_integers
    b = np.array([7, 9, 0], np.uint8)
    y = integer_client.encrypt_integers(b)
    with integer_server:
        assert read(100 // y).tolist() == [14, 11, 255] and read(100 % y).tolist() == [2, 1, 100]
        quotient, remainder = divmod(100, y)
        assert read(quotient).tolist() == [14, 11, 255]
        assert read(remainder).tolist() == [2, 1, 100]
        quotient, remainder = divmod(y, 4)
        assert read(quotient).tolist() == [1, 2, 0] and read(remainder).tolist() == [3, 1, 0]
        assert read([[50], [60]] // y).tolist() == [[7, 5, 255], [8, 6, 255]]
        signed = integer_client.encrypt_integers([1], "int8")
        for work in (lambda: 5 // signed, lambda: 5 % signed, lambda: divmod(signed, 2)):
            with pytest.raises(TypeError, match="div_rem"):
                work()


def test_sums_do_not_wrap(integer_client, integer_server):
    read = integer_client.decrypt
    a = np.array([[200, 100, 255], [1, 2, 3], [255, 255, 255], [0, 0, 9], [7, 7, 7]], np.uint8)
    signed = np.array([-128, -128, 127, -1, 5], np.int8)
    with integer_server:
        x = integer_client.encrypt_integers(a)
        for axis in (None, 0, 1, -1):
            total = x.sum(axis)
            assert total.dtype == "uint16" and np.array_equal(read(total), a.sum(axis))
        assert read(x[:, 0].sum(dtype=np.uint8)) == a[:, 0].sum(dtype=np.uint8)
        assert read(integer_client.encrypt_integers(signed).sum()) == signed.sum()
        held = x > 9
        assert held.sum().dtype == "uint4" and read(held.sum()) == (a > 9).sum()
        assert np.array_equal(read(held.sum(1)), (a > 9).sum(1))
        # So does Python's own, which begins with 0.
        assert np.array_equal(read(sum(x[3:])), a[3] + a[4])
        with pytest.raises(errors.MismatchError, match="axis 2"):
            x.sum(2)
        wide = integer_client.encrypt_integers([1, 2], "uint256")
        with pytest.raises(errors.MismatchError, match="wraps around"):
            wide.sum()


def test_choices_among_conditions(integer_client, integer_server):
    read = integer_client.decrypt_integers
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    with integer_server:
        x, y = integer_client.encrypt_integers(a), integer_client.encrypt_integers(b)
        for on, off in ((True, False), (False, True), (True, True)):
            assert np.array_equal(read(x.select(on, y)), np.where(a, on, b))
            assert np.array_equal(read(x.select(y, off)), np.where(a, b, off))
        assert np.array_equal(read(x.select(b, y)), np.where(a, b, b))


def test_what_does_not_fit_is_refused(client, integer_client, integer_server):
    x = integer_client.encrypt_integers([1, 2], "uint8")
    with pytest.raises(errors.NoServerError, match="with server"):
        x + x
    with pytest.raises(errors.MismatchError, match="uint7"):
        integer_client.encrypt_integers([1], "uint7")
    with pytest.raises(errors.MismatchError, match="does not fit"):
        integer_client.encrypt_integers([300], "uint8")
    with pytest.raises(errors.MismatchError, match="does not fit"):
        integer_client.encrypt_integers([-1], "uint8")
    with pytest.raises(TypeError):
        integer_client.encrypt_integers([1.5])
    with pytest.raises(TypeError, match="dtype"):
        integer_client.encrypt_integers([2**70])
    with pytest.raises(TypeError, match="truth value"):
        bool(x)
    with integer_server:
        for wrong in (300, -1, x.astype("uint16"), [1, 2, 3]):
            with pytest.raises(errors.MismatchError):
                x + wrong
        with pytest.raises(TypeError):
            x + 1.5
        with pytest.raises(errors.MismatchError, match="conditions"):
            x.select(x, x)
        with pytest.raises(errors.MismatchError):
            (x > 1).select(1, 2)
        with pytest.raises(errors.MismatchError, match="x != 0"):
            x.astype("bool")
        with pytest.raises(errors.MismatchError):
            (x > 1) + (x > 1)
        with pytest.raises(TypeError):
            x << -1
    with pytest.raises(errors.Error):
        # The set of gates has no room for four bits.
        integer.ServerKey(client.evaluation_keys(), device="cpu")
    with pytest.raises(errors.MismatchError):
        girih.ClientKey.generate("INSECURE_INTEGERS").decrypt_integers(x)
