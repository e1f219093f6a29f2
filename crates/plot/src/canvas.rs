//! The few drawing operations that a panel needs, over any plotters backend, in units that do not depend on the
//! resolution.

use std::sync::Once;

use anyhow::{Result, anyhow};
use plotters::backend::DrawingBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color as _, FontFamily, FontStyle, IntoFont, RGBColor, ShapeStyle, register_font,
};

/// A colour with its opacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Colour(pub u8, pub u8, pub u8, pub f64);

/// Text and axes.
pub const INK: Colour = Colour(0x1B, 0x1F, 0x24, 1.0);
/// Secondary text.
pub const MUTED: Colour = Colour(0x5B, 0x65, 0x70, 1.0);
/// Grid lines.
pub const RULE: Colour = Colour(0xDD, 0xE1, 0xE6, 1.0);
/// Background.
pub const PAPER: Colour = Colour(0xFF, 0xFF, 0xFF, 1.0);
/// Warnings drawn into a picture.
const ALARM: Colour = Colour(0xB4, 0x23, 0x18, 1.0);

/// Series colours that colour-blind readers and grey-scale prints can distinguish (Okabe and Ito 2008).
const SERIES: [Colour; 6] = [
    Colour(0x00, 0x72, 0xB2, 1.0),
    Colour(0xD5, 0x5E, 0x00, 1.0),
    Colour(0x00, 0x9E, 0x73, 1.0),
    Colour(0xCC, 0x79, 0xA7, 1.0),
    Colour(0xE6, 0x9F, 0x00, 1.0),
    Colour(0x56, 0xB4, 0xE9, 1.0),
];

/// The colour of series number `place`.
pub fn series_colour(place: usize) -> Colour {
    SERIES[place % SERIES.len()]
}

impl Colour {
    /// Returns the same colour with opacity `share`.
    pub fn faint(self, share: f64) -> Self {
        Self(self.0, self.1, self.2, share)
    }

    fn fill(self) -> ShapeStyle {
        RGBColor(self.0, self.1, self.2).mix(self.3).filled()
    }

    fn stroke(self, width: u32) -> ShapeStyle {
        RGBColor(self.0, self.1, self.2)
            .mix(self.3)
            .stroke_width(width)
    }
}

/// Replaces the fixed ink, rule and paper of an SVG by those of the page that it is put into.
pub fn adopt_page_colours(svg: &str) -> String {
    [
        (INK, "var(--ink)"),
        (MUTED, "var(--muted)"),
        (RULE, "var(--rule)"),
        (PAPER, "var(--paper)"),
        (ALARM, "var(--alarm)"),
    ]
    .iter()
    .fold(svg.to_owned(), |svg, (Colour(r, g, b, _), name)| {
        svg.replace(&format!("#{r:02X}{g:02X}{b:02X}"), name)
    })
}

/// A rectangle to draw in.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// Size, weight, colour and anchor of a text.
#[derive(Clone, Copy)]
pub struct Text {
    pub size: f64,
    pub bold: bool,
    pub colour: Colour,
    pub across: HPos,
}

impl Text {
    /// Returns centred text of the size of axis labels.
    pub fn label() -> Self {
        Self {
            size: 15.0,
            bold: false,
            colour: INK,
            across: HPos::Center,
        }
    }

    /// Returns the heading of a panel, from its left edge.
    pub fn heading() -> Self {
        Self {
            size: 17.0,
            bold: true,
            colour: INK,
            across: HPos::Left,
        }
    }

    /// Returns text smaller and paler than a label.
    pub fn note() -> Self {
        Self {
            size: 13.5,
            bold: false,
            colour: MUTED,
            across: HPos::Center,
        }
    }

    /// Returns the text of a warning.
    pub fn stamp() -> Self {
        Self {
            size: 14.5,
            bold: true,
            colour: ALARM,
            across: HPos::Left,
        }
    }

    /// Returns the same text, anchored elsewhere.
    pub fn anchored(self, across: HPos) -> Self {
        Self { across, ..self }
    }
}

/// Drawing surface of panels; coordinates grow to the right and down.
pub trait Canvas {
    /// Covers everything with the background colour.
    fn background(&mut self);
    /// Draws a straight line.
    fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: Colour, width: f64);
    /// Draws a line through points.
    fn path(&mut self, points: &[(f64, f64)], colour: Colour, width: f64);
    /// Draws a closed shape, filled.
    fn polygon(&mut self, corners: &[(f64, f64)], fill: Colour);
    /// Draws a rectangle between two corners, filled and outlined.
    fn rectangle(&mut self, from: (f64, f64), to: (f64, f64), fill: Colour, outline: Colour);
    /// Draws a filled circle.
    fn dot(&mut self, centre: (f64, f64), radius: f64, fill: Colour);
    /// Draws a diamond, filled with one colour and outlined with another.
    fn diamond(&mut self, centre: (f64, f64), radius: f64, fill: Colour, outline: Colour);
    /// Draws a text, vertically centred on `y`.
    fn text(&mut self, x: f64, y: f64, text: &str, style: &Text);
    /// Adds a tooltip to a point; pixel images have none.
    fn tip(&mut self, centre: (f64, f64), text: &str);
}

/// A tooltip at a point of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tip {
    pub x: i32,
    pub y: i32,
    pub text: String,
}

/// Output medium, vector or pixel image.
#[derive(Debug, Clone, Copy)]
pub struct Medium {
    /// Number of pixels per unit.
    scale: f64,
    /// Offset of text downwards that centres it vertically, as a share of its size.
    drop: f64,
}

/// Vector image; the reader's program renders it.
pub const SVG: Medium = Medium {
    scale: 1.0,
    drop: 0.0,
};
/// Pixel image, two pixels to a unit for print and dense screens; glyphs sit high in the boxes plotters gives them.
pub const PNG: Medium = Medium {
    scale: 2.0,
    drop: 0.13,
};

impl Medium {
    /// Converts a size in units to pixels.
    pub fn pixels(self, (width, height): (f64, f64)) -> (u32, u32) {
        ((width * self.scale) as u32, (height * self.scale) as u32)
    }
}

/// Gives `draw` a canvas over `backend` and finishes the picture; returns its tooltips. The first operation that fails
/// is the error.
pub fn on_drawing_area<DB: DrawingBackend>(
    backend: DB,
    medium: Medium,
    draw: impl FnOnce(&mut dyn Canvas),
) -> Result<Vec<Tip>> {
    register_fonts();
    let area = backend.into_drawing_area();
    let mut canvas = AreaCanvas {
        area: &area,
        medium,
        trouble: None,
        tips: Vec::new(),
    };
    draw(&mut canvas);
    let AreaCanvas { trouble, tips, .. } = canvas;
    if let Some(trouble) = trouble {
        return Err(anyhow!("figure: could not be drawn: {trouble}"));
    }
    area.present()
        .map_err(|error| anyhow!("figure: could not be written: {error}"))?;
    Ok(tips)
}

/// Font family named in an SVG: the reader's own, since the embedded one is only used for measuring and rendering.
const FAMILY: FontFamily<'static> = FontFamily::SansSerif;

fn register_fonts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (style, font) in [
            (FontStyle::Normal, dejavu::sans::regular()),
            (FontStyle::Bold, dejavu::sans::bold()),
        ] {
            let registered = register_font(FAMILY.as_str(), style, font);
            assert!(registered.is_ok(), "the embedded font is a valid font");
        }
    });
}

struct AreaCanvas<'a, DB: DrawingBackend> {
    area: &'a DrawingArea<DB, Shift>,
    medium: Medium,
    trouble: Option<String>,
    tips: Vec<Tip>,
}

impl<DB: DrawingBackend> AreaCanvas<'_, DB> {
    fn at(&self, point: (f64, f64)) -> (i32, i32) {
        (
            (point.0 * self.medium.scale).round() as i32,
            (point.1 * self.medium.scale).round() as i32,
        )
    }

    fn width(&self, width: f64) -> u32 {
        ((width * self.medium.scale).round() as u32).max(1)
    }

    fn note<E: std::fmt::Display>(&mut self, drawn: Result<(), E>) {
        if let Err(error) = drawn {
            self.trouble.get_or_insert_with(|| error.to_string());
        }
    }
}

impl<DB: DrawingBackend> Canvas for AreaCanvas<'_, DB> {
    fn background(&mut self) {
        let drawn = self.area.fill(&RGBColor(PAPER.0, PAPER.1, PAPER.2));
        self.note(drawn);
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: Colour, width: f64) {
        let path = PathElement::new(
            vec![self.at(from), self.at(to)],
            colour.stroke(self.width(width)),
        );
        let drawn = self.area.draw(&path);
        self.note(drawn);
    }

    fn path(&mut self, points: &[(f64, f64)], colour: Colour, width: f64) {
        let points: Vec<(i32, i32)> = points.iter().map(|&point| self.at(point)).collect();
        let path = PathElement::new(points, colour.stroke(self.width(width)));
        let drawn = self.area.draw(&path);
        self.note(drawn);
    }

    fn polygon(&mut self, corners: &[(f64, f64)], fill: Colour) {
        let corners: Vec<(i32, i32)> = corners.iter().map(|&corner| self.at(corner)).collect();
        let drawn = self.area.draw(&Polygon::new(corners, fill.fill()));
        self.note(drawn);
    }

    fn rectangle(&mut self, from: (f64, f64), to: (f64, f64), fill: Colour, outline: Colour) {
        let corners = [self.at(from), self.at(to)];
        let filled = self.area.draw(&Rectangle::new(corners, fill.fill()));
        self.note(filled);
        let outlined = self
            .area
            .draw(&Rectangle::new(corners, outline.stroke(self.width(1.5))));
        self.note(outlined);
    }

    fn dot(&mut self, centre: (f64, f64), radius: f64, fill: Colour) {
        let circle = Circle::new(
            self.at(centre),
            (radius * self.medium.scale).round() as i32,
            fill.fill(),
        );
        let drawn = self.area.draw(&circle);
        self.note(drawn);
    }

    fn diamond(&mut self, (x, y): (f64, f64), radius: f64, fill: Colour, outline: Colour) {
        let corners: Vec<(i32, i32)> = [
            (x, y - radius),
            (x + radius, y),
            (x, y + radius),
            (x - radius, y),
        ]
        .map(|corner| self.at(corner))
        .to_vec();
        let filled = self.area.draw(&Polygon::new(corners.clone(), fill.fill()));
        self.note(filled);
        let closed = corners
            .iter()
            .copied()
            .chain(corners.first().copied())
            .collect::<Vec<_>>();
        let outlined = self
            .area
            .draw(&PathElement::new(closed, outline.stroke(self.width(2.0))));
        self.note(outlined);
    }

    fn text(&mut self, x: f64, y: f64, text: &str, style: &Text) {
        let weight = if style.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        let font = (FAMILY, style.size * self.medium.scale, weight).into_font();
        let Colour(r, g, b, _) = style.colour;
        let anchored = font
            .color(&RGBColor(r, g, b))
            .pos(Pos::new(style.across, VPos::Center));
        let at = self.at((x, y + self.medium.drop * style.size));
        let drawn = self.area.draw_text(text, &anchored, at);
        self.note(drawn);
    }

    fn tip(&mut self, centre: (f64, f64), text: &str) {
        let (x, y) = self.at(centre);
        let text = text.to_owned();
        self.tips.push(Tip { x, y, text });
    }
}
