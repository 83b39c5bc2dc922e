// Gives an OpenCode session its context, and reports what happens in it: every event goes to a handler of `writ hook`.
// Nothing here may disturb the session: every call has a deadline, and a call that fails is dropped.
import { execFile, spawnSync } from "node:child_process";

const CALL_MS_MAX = 5000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** A tool's output is cut to its end: tools say last why they failed. */
const OUTPUT_CHARS_MAX = 64 * 1024;
const PROMPT_CHARS_MAX = 64 * 1024;
const TODOS_DELAY_MS = 3000;
/** How long all calls together may take while the process exits. */
const FAREWELL_MS_MAX = 3000;
/** Sessions that are remembered; the oldest are dropped first. */
const SESSIONS_MAX = 200;

function words(handler) {
  return ["hook", handler, "--from", "opencode", ...STORE];
}

/** Calls a handler without a shell. Resolves to the context that it answers, or to nothing. */
function call(handler, directory, payload) {
  return new Promise((resolve) => {
    const options = { cwd: directory, timeout: CALL_MS_MAX, maxBuffer: ANSWER_BYTES_MAX };
    const child = execFile(PROGRAM, words(handler), options, (error, stdout) => {
      try {
        resolve(error || !stdout ? undefined : JSON.parse(stdout).context);
      } catch {
        resolve(undefined);
      }
    });
    child.on("error", () => resolve(undefined));
    child.stdin?.on("error", () => {});
    child.stdin?.end(JSON.stringify(payload));
  });
}

function createBridge(directory) {
  /** What is known of a session: its parent, its context, its last words. */
  const sessions = new Map();
  const inFlight = new Set();

  function about(id) {
    let session = sessions.get(id);
    if (!session) {
      if (sessions.size >= SESSIONS_MAX) sessions.delete(sessions.keys().next().value);
      session = { id, source: "resume", isOpen: false };
      sessions.set(id, session);
    }
    return session;
  }

  /** A subagent has a session of its own, but it works for the session that started it. */
  function rootOf(session) {
    let root = session;
    for (let depth = 0; root.parent && depth < 10; depth += 1) root = about(root.parent);
    return root;
  }

  function payload(session, fields) {
    const told = { session_id: rootOf(session).id, cwd: directory, ...fields };
    return session.parent ? { ...told, agent_id: session.id, agent_type: session.agent } : told;
  }

  function report(handler, session, fields) {
    const done = call(handler, directory, payload(session, fields));
    inFlight.add(done);
    void done.then(() => inFlight.delete(done));
    return done;
  }

  /** Asked for once, and again after a compaction. */
  function context(session) {
    if (session.context === undefined) {
      session.isOpen = !session.parent;
      session.context = session.parent
        ? report("subagent-start", session, {})
        : report("session-start", session, { source: session.source });
    }
    return session.context;
  }

  function forgetContext(session) {
    session.context = undefined;
    session.source = "compact";
  }

  async function toolEnded(session, tool, input, id, failure) {
    const fields = { tool_name: tool, tool_input: input, tool_use_id: id };
    if (!failure) return report("tool-success", session, fields);
    const error = String(failure.output ?? "").slice(-OUTPUT_CHARS_MAX);
    return report("tool-failure", session, { ...fields, error, exit_code: failure.exit });
  }

  function turnEnded(session) {
    // The time tells turns of one message apart; what is reported again at exit is still the same turn.
    const said = { last_assistant_message: session.lastWords, prompt_id: session.lastMessage, at: Date.now() };
    session.lastWords = undefined;
    const handler = session.parent ? "subagent-stop" : "stop";
    session.stop = payload(session, said);
    const done = report(handler, session, said);
    void done.then(() => (session.stop = undefined));
    return done;
  }

  function todosLater(session, todos) {
    clearTimeout(session.timer);
    session.timer = setTimeout(() => void report("todos", session, { todos }), TODOS_DELAY_MS);
    session.timer.unref?.();
  }

  async function ended(session) {
    clearTimeout(session.timer);
    sessions.delete(session.id);
    if (session.isOpen) {
      session.isOpen = false;
      await report("session-end", session, { reason: "deleted", at: Date.now() });
    }
  }

  async function event({ event }) {
    const properties = event?.properties ?? {};
    const id = properties.sessionID ?? properties.info?.id ?? properties.part?.sessionID;
    if (typeof id !== "string") return;
    const part = properties.part;
    if (event.type === "session.created") {
      const session = about(id);
      session.source = "startup";
      session.parent = properties.info?.parentID;
      session.agent = properties.info?.agent ?? properties.info?.title;
    } else if (event.type === "message.part.updated" && part?.type === "tool" && part.state?.status === "error") {
      await toolEnded(about(id), part.tool, part.state.input, part.callID, { output: part.state.error });
    } else if (event.type === "session.idle") {
      await turnEnded(about(id));
    } else if (event.type === "todo.updated" && Array.isArray(properties.todos)) {
      todosLater(about(id), properties.todos);
    } else if (event.type === "session.compacted") {
      forgetContext(about(id));
    } else if (event.type === "session.deleted") {
      await ended(about(id));
    }
  }

  const hooks = {
    event,
    "chat.message": async (input, output) => {
      if (!input?.sessionID) return;
      const session = about(input.sessionID);
      const message = output?.message?.id ?? input.messageID;
      session.lastMessage = message;
      // The context first: it decides which task the prompt belongs to.
      await context(session);
      if (session.parent) return;
      const parts = (output?.parts ?? []).filter((part) => part.type === "text" && !part.synthetic);
      const prompt = parts.map((part) => part.text).join("\n").slice(0, PROMPT_CHARS_MAX);
      if (prompt.trim()) session.reminder = await report("prompt", session, { prompt, prompt_id: message });
    },
    "experimental.chat.system.transform": async (input, output) => {
      if (!input?.sessionID) return;
      const session = about(input.sessionID);
      for (const text of [await context(session), session.reminder]) if (text) output.system.push(text);
    },
    "experimental.text.complete": async (input, output) => {
      if (input?.sessionID && output?.text?.trim()) about(input.sessionID).lastWords = output.text;
    },
    "experimental.session.compacting": async (input) => {
      if (!input?.sessionID) return;
      const session = about(input.sessionID);
      await report("checkpoint", session, { trigger: "auto", at: Date.now() });
      forgetContext(session);
    },
    "tool.execute.after": async (input, output) => {
      if (!input?.sessionID || READING_TOOLS.includes(input.tool)) return;
      const exit = output?.metadata?.exit;
      const failure = typeof exit === "number" && exit !== 0 ? { exit, output: output.output } : undefined;
      await toolEnded(about(input.sessionID), input.tool, input.args, input.callID, failure);
    },
    dispose: async () => {
      await Promise.allSettled(inFlight);
    },
  };

  /** OpenCode says nothing when it exits: what was not reported yet is reported now, and claims are released. */
  function farewell(deadline) {
    const now = (handler, told) => {
      const timeout = deadline - Date.now();
      if (timeout <= 0) return;
      const options = { cwd: directory, input: JSON.stringify(told), timeout, stdio: ["pipe", "ignore", "ignore"] };
      spawnSync(PROGRAM, words(handler), options);
    };
    for (const session of sessions.values()) {
      if (session.stop && !session.parent) now("stop", session.stop);
      if (session.isOpen) now("session-end", payload(session, { reason: "exit", at: Date.now() }));
    }
  }

  return { hooks, farewell };
}

const LOADED = Symbol.for("writ.bridge");

/** The plugin. Installed for the user and for the project, it still works once. */
export const WritBridge = async ({ directory, worktree }) => {
  const place = directory || worktree || process.cwd();
  if (!globalThis[LOADED]) {
    const bridges = (globalThis[LOADED] = new Map());
    process.on("exit", () => {
      const deadline = Date.now() + FAREWELL_MS_MAX;
      for (const bridge of bridges.values()) bridge.farewell(deadline);
    });
  }
  if (globalThis[LOADED].has(place)) return {};
  const bridge = createBridge(place);
  globalThis[LOADED].set(place, bridge);
  return bridge.hooks;
};
