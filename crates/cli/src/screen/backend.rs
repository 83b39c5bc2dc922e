//! Writes what ratatui draws with movements relative to the cursor.
//!
//! ratatui addresses rows of the whole screen and asks the terminal where its cursor is. The answer would come on
//! standard input, which other readers own, and some terminals never send one. The rows of an inline viewport
//! are only ever reached from each other, so it is enough to count from an assumed row.

use std::io::{self, Write};

use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};

use super::columns;

pub(super) struct RelativeBackend {
    written: Vec<u8>,
    size: Size,
    /// Where the cursor is, if the viewport ends in the last row.
    at: Position,
    /// Whether the terminal's cursor is certainly in that column: it may count a character's columns in another way.
    is_sure: bool,
    pen: (Color, Modifier),
    has_color: bool,
}

impl RelativeBackend {
    pub(super) fn new(size: Size, has_color: bool) -> Self {
        Self {
            written: Vec::new(),
            size,
            at: Position::new(0, size.height.saturating_sub(1)),
            is_sure: true,
            pen: (Color::Reset, Modifier::empty()),
            has_color,
        }
    }

    fn put(&mut self, text: &str) {
        self.written.extend_from_slice(text.as_bytes());
    }

    fn move_to(&mut self, to: Position) {
        if self.is_sure && self.at == to {
            return;
        }
        let vertical = if to.y < self.at.y { ('A', self.at.y - to.y) } else { ('B', to.y - self.at.y) };
        if vertical.1 > 0 {
            self.put(&format!("\x1b[{}{}", vertical.1, vertical.0));
        }
        self.put("\r");
        if to.x > 0 {
            self.put(&format!("\x1b[{}C", to.x));
        }
        self.at = to;
        self.is_sure = true;
    }

    fn use_pen(&mut self, pen: (Color, Modifier)) {
        if !self.has_color || self.pen == pen {
            return;
        }
        let (color, modifier) = pen;
        let mut codes = String::from("0");
        if modifier.contains(Modifier::BOLD) {
            codes.push_str(";1");
        }
        if modifier.contains(Modifier::DIM) {
            codes.push_str(";2");
        }
        if let Some(code) = foreground(color) {
            codes.push_str(&format!(";{code}"));
        }
        self.put(&format!("\x1b[{codes}m"));
        self.pen = pen;
    }

    fn write_cell(&mut self, x: u16, y: u16, cell: &Cell) {
        self.move_to(Position::new(x, y));
        self.use_pen((cell.fg, cell.modifier));
        self.put(cell.symbol());
        let width = u16::try_from(columns(cell.symbol())).unwrap_or(1);
        self.at.x = x.saturating_add(width);
        self.is_sure = cell.symbol().is_ascii() && self.at.x < self.size.width;
    }
}

impl Backend for RelativeBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        // Others may have written, as the terminal does when it echoes a key.
        self.is_sure = false;
        let cells: Vec<(u16, u16, &Cell)> = content.collect();
        let mut index = 0;
        let mut covered = Position::ORIGIN;
        while let Some(&(x, y, cell)) = cells.get(index) {
            index += 1;
            // The second column of a wide character.
            if y == covered.y && x < covered.x {
                continue;
            }
            let blanks = blank_cells(&cells[index - 1..]);
            if usize::from(x) + blanks >= usize::from(self.size.width) && blanks > 0 {
                self.move_to(Position::new(x, y));
                self.use_pen((Color::Reset, Modifier::empty()));
                self.put("\x1b[K");
                index += blanks - 1;
                continue;
            }
            self.write_cell(x, y, cell);
            covered = Position::new(self.at.x, y);
        }
        Ok(())
    }

    fn append_lines(&mut self, lines: u16) -> io::Result<()> {
        self.use_pen((Color::Reset, Modifier::empty()));
        self.put(&"\n".repeat(usize::from(lines)));
        self.put("\r");
        self.at.x = 0;
        Ok(())
    }

    // A hidden cursor would stay hidden if writ was killed.
    fn hide_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.at)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.move_to(position.into());
        self.flush()
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.use_pen((Color::Reset, Modifier::empty()));
        match region {
            ClearType::AfterCursor => self.put("\x1b[J"),
            ClearType::CurrentLine => self.put("\x1b[2K"),
            ClearType::UntilNewLine => self.put("\x1b[K"),
            // What is above the viewport is not ours.
            ClearType::All | ClearType::BeforeCursor => {}
        }
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size, pixels: Size::default() })
    }

    /// One write for each drawing, so that half of one is never seen.
    fn flush(&mut self) -> io::Result<()> {
        self.use_pen((Color::Reset, Modifier::empty()));
        let written = std::mem::take(&mut self.written);
        io::stderr().write_all(&written)
    }
}

/// How many cells from here on are blank, side by side in one row.
fn blank_cells(cells: &[(u16, u16, &Cell)]) -> usize {
    let Some(&(first, row, _)) = cells.first() else { return 0 };
    let is_next = |(offset, (x, y, cell)): &(usize, &(u16, u16, &Cell))| {
        let is_blank = cell.symbol() == " " && cell.fg == Color::Reset && cell.modifier.is_empty();
        is_blank && *y == row && usize::from(*x) == usize::from(first) + offset
    };
    cells.iter().enumerate().take_while(is_next).count()
}

fn foreground(color: Color) -> Option<u8> {
    match color {
        Color::Red => Some(31),
        Color::Green => Some(32),
        Color::Yellow => Some(33),
        Color::Blue => Some(34),
        Color::Magenta => Some(35),
        Color::Cyan => Some(36),
        // Nothing else is used: these follow the colors that the user chose for the terminal.
        _ => None,
    }
}
