//! Tiles of rows by shape, and their records one after the other.

use crate::poly::arguments::{MOST_SHAPES, ShapeNumbers, ShapePlace};
use crate::poly::limbs::Places;
use crate::poly::row_layout::{ROW_BYTES, TEAM_BYTES};
use crate::poly::shape::{NormalTile, Normalizer, RowShape};
use girih_backend::poly::RingShape;
use girih_backend::poly::schedule::RowTile;
use girih_backend::{BackendError, DeviceLimits};
use std::collections::{BTreeMap, BTreeSet};

/// A shape, and its tiles.
pub(crate) type Shaped = (RowShape, Vec<NormalTile>);

/// Tiles by shape, the costliest first.
pub(crate) fn by_shape(
    ring: &RingShape,
    places: &Places,
    tiles: &[RowTile],
) -> Result<Vec<Shaped>, BackendError> {
    let normalizer = Normalizer { ring, places };
    let tiles = tiles.iter().map(|tile| normalizer.normal(tile));
    Ok(grouped(tiles.collect::<Result<_, _>>()?))
}

fn grouped(tiles: Vec<NormalTile>) -> Vec<Shaped> {
    let mut shapes = BTreeMap::<RowShape, Vec<NormalTile>>::new();
    for tile in tiles {
        shapes.entry(tile.shape.clone()).or_default().push(tile);
    }
    let mut shapes: Vec<_> = shapes.into_iter().collect();
    for (shape, tiles) in shapes.iter_mut().filter(|(shape, _)| shape.is_listed()) {
        let words = tiles.iter().map(|t| t.record.len()).max().unwrap_or(0);
        shape.set_record_words(words);
        tiles.iter_mut().for_each(|t| t.record.resize(words, 0));
    }
    shapes.sort_by_key(|(shape, _)| std::cmp::Reverse(shape.cost()));
    shapes
}

/// All tiles as lists for the text that serves every tile, and those whose rows a block has no
/// memory for then as they are.
pub(crate) fn general(
    ring: &RingShape,
    limits: &DeviceLimits,
    shapes: Vec<Shaped>,
) -> [Vec<Shaped>; 2] {
    let fits = |(shape, tiles): &Shaped| {
        let buffers = tiles.first().map_or(0, NormalTile::listed_buffers);
        buffers * ROW_BYTES + TEAM_BYTES <= limits.workgroup_memory_bytes
            && shape.operands() < 1 << 16
    };
    let (lists, others): (Vec<_>, Vec<_>) = shapes.into_iter().partition(fits);
    let lists = lists.iter().flat_map(|(_, tiles)| tiles.iter().map(|tile| tile.general(ring)));
    [grouped(lists.collect()), others]
}

/// Texts that the tiles of a launch may be divided among: a launch more is cheaper than lists of
/// steps (docs/experiments.md).
const MOST_TEXTS: usize = 2;

/// Makes lists of steps of the tiles with more than `most_products`, and then of those with the
/// most until at most so many are left for each of [`MOST_TEXTS`] texts, where a block's memory has
/// room for their rows.
pub(crate) fn listed(
    ring: &RingShape,
    limits: &DeviceLimits,
    shapes: Vec<Shaped>,
    most_products: usize,
) -> Vec<Shaped> {
    let mut products: usize = shapes.iter().map(|(shape, _)| shape.products()).sum();
    let most = MOST_TEXTS * most_products;
    if products <= most && shapes.iter().all(|(shape, _)| shape.products() <= most_products) {
        return shapes;
    }
    let mut order: Vec<usize> = (0..shapes.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(shapes[i].0.products()));
    let mut lists = BTreeSet::new();
    for i in order {
        let (shape, tiles) = &shapes[i];
        // Operands of lists are not held there, those of texts are.
        let others = (0..shapes.len()).filter(|&k| k != i && !lists.contains(&k));
        let operands = others.map(|k| shapes[k].0.operands()).max().unwrap_or(0);
        let beside = TEAM_BYTES.max(16 * operands + TEAM_BYTES / 2);
        let buffers = tiles.first().map_or(0, NormalTile::listed_buffers);
        // Lists name operands by 16 bits.
        let fits = buffers * ROW_BYTES + beside <= limits.workgroup_memory_bytes
            && shape.operands() < 1 << 16;
        if (products > most || shape.products() > most_products) && fits {
            products -= shape.products();
            lists.insert(i);
        }
    }
    // All lists of a class of primes share a text: it has the kinds of all.
    let mut kinds = [BTreeSet::new(), BTreeSet::new()];
    for &i in &lists {
        let (shape, tiles) = &shapes[i];
        let of = &mut kinds[usize::from(shape.is_wide())];
        tiles.first().into_iter().for_each(|tile| of.extend(tile.kinds()));
    }
    let (kinds, lists) = (&kinds, &lists);
    let tile = |(i, (shape, tiles)): (usize, Shaped)| {
        let list = lists.contains(&i);
        let kinds = &kinds[usize::from(shape.is_wide())];
        tiles.into_iter().map(move |t| if list { t.listed(ring, kinds) } else { t })
    };
    grouped(shapes.into_iter().enumerate().flat_map(tile).collect())
}

/// Records of tiles by shape, and for each shape where its items and records begin.
pub(crate) struct Records {
    pub words: Vec<u32>,
    /// Where each shape's items and records begin.
    pub first: Vec<ShapePlace>,
    pub items: u32,
}

impl Records {
    /// `tile_items` of each tile of a shape.
    pub fn new(shapes: &[Shaped], tile_items: impl Fn(&RowShape) -> usize) -> Self {
        let mut all = Self { words: Vec::new(), first: Vec::new(), items: 0 };
        for (shape, tiles) in shapes {
            let first_record = (all.words.len() / 4) as u32;
            all.first.push(ShapePlace { first_item: all.items, first_record });
            all.items += (tiles.len() * tile_items(shape)) as u32;
            all.words.extend(tiles.iter().flat_map(|t| &t.record));
        }
        all
    }
}

/// One for each shape that arguments have room for, of a text for so many shapes: no item belongs
/// to those that are not there.
pub(crate) fn of_any_shapes(
    own: impl Iterator<Item = ShapeNumbers>,
) -> [ShapeNumbers; MOST_SHAPES] {
    let place = ShapePlace { first_item: u32::MAX, first_record: 0 };
    let mut own = own;
    std::array::from_fn(|_| own.next().unwrap_or(ShapeNumbers { place, ..Default::default() }))
}

/// One for each shape that arguments have room for.
pub(crate) fn of_shapes<T: Default>(own: impl Iterator<Item = T>) -> [T; MOST_SHAPES] {
    let mut own = own;
    std::array::from_fn(|_| own.next().unwrap_or_default())
}
