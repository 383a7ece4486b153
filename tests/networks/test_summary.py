"""Parameter counts against published ones and against the arrays; the table and the picture."""

from __future__ import annotations

from xml.etree import ElementTree

import jax
import pytest

from tabia.games import make
from tabia.networks import Network
from tabia.networks.picture import draw
from tabia.networks.presets import any_size, glimmerfors, goldberg_ishay, mlp, sanz_villanueva, tower
from tabia.networks.summary import counts, summary, trunk

from .zoo import ZOO

SANZ_VILLANUEVA_PLANES = (3, 3, 3)  # tic-tac-toe: white's stones, black's stones, the side to move


@pytest.mark.parametrize(("blocks", "filters", "published"), [(1, 32, 23_780), (19, 256, 22_550_276)])
def test_published_counts_of_sanz_villanueva(blocks: int, filters: int, published: int) -> None:
    """Sanz & Villanueva 2021, section 4.3. Their value head has one output; a second adds a row of weights."""
    one, two = (
        Network(sanz_villanueva(blocks, filters), SANZ_VILLANUEVA_PLANES, num_actions=9, num_players=seats)
        for seats in (1, 2)
    )
    assert counts(one).all == published
    assert counts(two).all == published + filters


def test_heads_in_the_text_of_sanz_villanueva_miss_the_published_counts() -> None:
    """The heads of section 3.3, with 2 filters and 256 units, give other counts."""
    described = [
        counts(Network(config, SANZ_VILLANUEVA_PLANES, 9, 1)).all
        for config in (glimmerfors(32, 1), glimmerfors(256, 19))
    ]
    tower_1, tower_19 = 27 * 32 + 128 + 2 * (9216 + 128), 27 * 256 + 1024 + 38 * (589824 + 1024)
    policy, value = 8 + (18 * 9 + 9), 4 + (9 * 256 + 256) + 257
    assert described == [tower_1 + 32 * 3 + policy + value, tower_19 + 256 * 3 + policy + value]
    assert 23_780 not in described
    assert 22_550_276 not in described


def test_the_network_of_goldberg_ishay_has_the_shapes_of_its_listing() -> None:
    """Section 2.3: 3 x 4 kernels from 1 plane to 32 and 64 filters, 768 to 1,024 units, 5 classes; we add values."""
    network = Network.of(goldberg_ishay(), make("connect3"))
    listed = (3 * 4 * 1 * 32 + 32) + (3 * 4 * 32 * 64 + 64) + (3 * 4 * 64 * 1024 + 1024) + (1024 * 5 + 5)
    assert counts(network).all == listed + (1024 * 2 + 2)


@pytest.mark.parametrize("name", ZOO)
def test_counts_match_the_arrays(name: str) -> None:
    network = ZOO[name]
    variables = jax.eval_shape(network.init, jax.random.key(0))
    trainable = sum(leaf.size for leaf in jax.tree.leaves(variables.params))
    assert counts(network).trainable == trainable
    assert counts(network).all == trainable + sum(leaf.size for leaf in jax.tree.leaves(variables.statistics))


def test_multiplications_by_hand() -> None:
    network = Network(glimmerfors(4, 1), (2, 3, 2), 5, 2)
    by_hand = 6 * 9 * (2 * 4 + 2 * 4 * 4) + 6 * 4 * (2 + 1) + 12 * 5 + 6 * 256 + 256 * 2
    assert counts(network).multiplications == by_hand


def test_the_table_lists_every_layer() -> None:
    network = Network(any_size(16, 3, policy_extra=1), (8, 8, 2), 65, 2)
    text = summary(network)
    for layer in network.layers:
        assert f"\n{layer.name} " in text
    assert f"{counts(network).all:,} with running statistics" in text
    assert max(map(len, text.splitlines())) < 120


@pytest.mark.parametrize("name", ZOO)
def test_the_picture_is_svg_and_fits_its_canvas(name: str) -> None:
    root = ElementTree.fromstring(draw(ZOO[name]))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for rectangle in root.iter("{http://www.w3.org/2000/svg}rect"):
        if "x" in rectangle.attrib:
            x, y, wide, high = (float(rectangle.attrib[key]) for key in ("x", "y", "width", "height"))
            assert x >= 0
            assert x + wide <= width
            assert y >= 0
            assert y + high <= height


def test_the_picture_shows_the_network() -> None:
    texts = [
        element.text or ""
        for element in ElementTree.fromstring(draw(Network(tower(64, 5, value="wdl"), (6, 7, 2), 7, 2))).iter()
    ]
    for expected in ("6 x 7 x 2", "3 x 3 convolution, 64", "x 5", "7 logits", "win, draw, loss"):
        assert expected in texts


def test_the_trunk_in_words() -> None:
    found = [trunk(config) for config in (tower(64, 5).changed(kind="bottleneck"), goldberg_ishay(), mlp(16, 12))]
    assert found == [
        "5 bottleneck blocks of 64 filters",
        "convolutions of 32, 64 filters and dense layers of 1024",
        "dense layers of 16, 12",
    ]


def test_a_bottleneck_by_hand() -> None:
    """Per cell: 1 x 1 from 8 to 4 and back, and two inner blocks of two 3 x 3 convolutions at 4."""
    none, one = (
        counts(Network(glimmerfors(8, blocks).changed(kind="bottleneck"), (2, 3, 2), 5, 2)) for blocks in (0, 1)
    )
    assert one.multiplications - none.multiplications == 6 * (8 * 4 + 4 * 9 * 4 * 4 + 4 * 8)
    assert one.trainable - none.trainable == 8 * 4 + 4 * 9 * 4 * 4 + 4 * 8 + 2 * (5 * 4 + 8)  # scales and shifts


@pytest.mark.parametrize(
    ("kind", "by_hand"),
    [
        ("mixer", 6 * 6 * 16 + 6 * 2 * 16 * 32),
        ("attention", 4 * 6 * 16 * 16 + 2 * 6 * 6 * 16 + 6 * 2 * 16 * 32),
        ("gated", 6 * 3 * 16 * 32 + 6 * 9 * 32),
    ],
)
def test_other_bodies_by_hand(kind: str, by_hand: int) -> None:
    """6 cells, 16 filters, 32 hidden features: products over cells, with weights, and per channel."""
    none, one = (counts(Network(glimmerfors(16, blocks).changed(kind=kind), (2, 3, 2), 5, 2)) for blocks in (0, 1))
    assert one.multiplications - none.multiplications == by_hand


def test_auxiliary_heads_are_not_in_the_picture() -> None:
    pictures = [draw(Network(tower(8, 1).changed(final_position=on), (4, 5, 2), 6, 2)) for on in (True, False)]
    assert pictures[0].count("<rect") == pictures[1].count("<rect")
