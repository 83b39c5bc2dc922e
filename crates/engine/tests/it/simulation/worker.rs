//! Workers of every character.

use super::dice::Dice;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Character {
    Good,
    /// Its heartbeats come too late.
    Late,
    /// Says it is done when it is not, and uses tokens that are not its own.
    Lying,
    /// Sends everything twice.
    Repeating,
    /// Never sends anything again.
    Dying,
}

/// Somebody who was told to do a task.
#[derive(Debug, Clone)]
pub(super) struct Worker {
    pub(super) name: String,
    pub(super) character: Character,
    pub(super) task: usize,
    pub(super) token: i64,
    /// Ticks of work that are left.
    pub(super) work: u64,
    pub(super) is_gone: bool,
}

/// What a worker sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    Heartbeat {
        token: i64,
    },
    /// `true` where the work was really done.
    Result {
        token: i64,
        honest: bool,
    },
}

impl Worker {
    pub(super) fn new(dice: &mut Dice, number: usize, task: usize, token: i64) -> Self {
        let characters = [
            Character::Good,
            Character::Good,
            Character::Late,
            Character::Lying,
            Character::Repeating,
            Character::Dying,
        ];
        Self {
            name: format!("w{number}"),
            character: dice.pick(&characters),
            task,
            token,
            work: 1 + dice.below(4),
            is_gone: false,
        }
    }

    /// What it says in one tick.
    pub(super) fn act(&mut self, dice: &mut Dice) -> Vec<Message> {
        if self.is_gone {
            return Vec::new();
        }
        self.work = self.work.saturating_sub(1);
        let finished = self.work == 0;
        let result = |token, honest| Message::Result { token, honest };
        match self.character {
            Character::Dying if dice.one_in(2) => {
                self.is_gone = true;
                Vec::new()
            }
            Character::Late if dice.one_in(2) => Vec::new(),
            Character::Lying if dice.one_in(3) => vec![
                result(self.token, false),
                result(self.token + 1, false),
                Message::Heartbeat { token: self.token - 1 },
            ],
            Character::Repeating if finished => vec![result(self.token, true); 2],
            _ if finished => vec![result(self.token, true)],
            _ => vec![Message::Heartbeat { token: self.token }],
        }
    }
}
