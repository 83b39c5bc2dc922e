// Gives an OpenCode session its context at the start, and tells the store what happens in it.
// Nothing here may disturb the session: every call has a deadline, and a call that fails is forgotten.
import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";

const CALL_MS_MAX = 5000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const PROMPT_CHARS_MAX = 500;
const INPUT_BYTES_MAX = 2048;
const OUTPUT_BYTES_MAX = 4096;
const SNAPSHOT_DELAY_MS = 3000;
const FAREWELL_MS_MAX = 2000;
/** Sessions whose context is remembered; the oldest are forgotten first. */
const SESSIONS_MAX = 100;
/** OpenCode's own names of the tools that change something. */
const NOTED_TOOLS = new Set(["bash", "edit", "multiedit", "write", "patch", "apply_patch"]);

/** Runs writ without a shell. Gives its data, or nothing. */
function call(words, directory, input) {
  return new Promise((resolve) => {
    const options = { cwd: directory, timeout: CALL_MS_MAX, maxBuffer: ANSWER_BYTES_MAX };
    const child = execFile(PROGRAM, [...words, ...STORE], options, (error, stdout) => {
      try {
        resolve(error ? undefined : JSON.parse(stdout).data);
      } catch {
        resolve(undefined);
      }
    });
    child.on("error", () => resolve(undefined));
    child.stdin?.on("error", () => {});
    child.stdin?.end(input ?? "");
  });
}

function agentOf(session) {
  const given = process.env.WRIT_AGENT || process.env.VYBE_AGENT;
  // Names do not tell upper from lower case, but sessions do.
  return given || `opencode-${createHash("sha256").update(session).digest("hex").slice(0, 16)}`;
}

/** The same for the same parts, so that an event which is told twice is written once. */
function requestId(operation, ...parts) {
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  return `oc_${operation}_${digest.slice(0, 24)}`;
}

function clip(text, max) {
  return [...text.slice(0, max * 2)].slice(0, max).join("");
}

/** The beginning of a value, without what a terminal would obey. */
function preview(value, max) {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  const plain = text.slice(0, max).replace(/[^\P{Cc}\n\t]/gu, "");
  return Buffer.from(plain).subarray(0, max).toString();
}

function createBridge(directory) {
  const prompts = new Map();
  /** Sessions that may hold a task. */
  const open = new Set();
  const snapshots = new Map();
  let turns = 0;
  let latest;

  async function push(session, id, kind, message, metadata) {
    const document = JSON.stringify({ event: { kind, message, metadata } });
    const words = ["push", "--agent", agentOf(session), "--request-id", id];
    await call(words, directory, document);
  }

  function told(session, event) {
    return JSON.stringify({ session_id: session, cwd: directory, hook_event_name: event, at: Date.now() });
  }

  function hook(handler, session, event) {
    return call(["hook", handler, "--agent", agentOf(session)], directory, told(session, event));
  }

  // OpenCode says nothing when it ends; what its sessions hold is given back all the same.
  process.on("exit", () => {
    for (const session of open) {
      const words = ["hook", "session-end", "--agent", agentOf(session), ...STORE];
      const input = told(session, "SessionEnd");
      spawnSync(PROGRAM, words, { cwd: directory, input, timeout: FAREWELL_MS_MAX, stdio: ["pipe", "ignore", "ignore"] });
    }
  });

  async function context(session) {
    if (!prompts.has(session)) {
      turns += 1;
      const id = requestId("resume", session, process.pid, turns, Date.now());
      const words = ["resume", "--agent", agentOf(session), "--request-id", id, "--project-dir", directory];
      const resumed = await call(words, directory);
      if (prompts.size >= SESSIONS_MAX) prompts.delete(prompts.keys().next().value);
      prompts.set(session, resumed?.prompt);
      open.add(session);
    }
    return prompts.get(session);
  }

  async function toolEnded(session, part, failed, output) {
    const id = requestId(failed ? "tool_failure" : "tool_success", session, part.callID);
    const metadata = { tool: part.tool, input: preview(part.input, INPUT_BYTES_MAX) };
    if (failed) metadata.output = preview(output, OUTPUT_BYTES_MAX);
    const message = `${part.tool} ${failed ? "failed" : "succeeded"}`;
    await push(session, id, failed ? "tool_failure" : "tool_success", message, metadata);
  }

  function snapshotLater(session, todos) {
    clearTimeout(snapshots.get(session));
    const tell = () => {
      snapshots.delete(session);
      const id = requestId("snapshot", session, todos);
      void push(session, id, "todo_snapshot", `${todos.length} items`, { todos });
    };
    snapshots.set(session, setTimeout(tell, SNAPSHOT_DELAY_MS));
  }

  async function event({ event }) {
    const about = event?.properties ?? {};
    const session = about.sessionID ?? about.info?.id ?? about.part?.sessionID;
    if (typeof session !== "string") return;
    const part = about.part;
    if (event.type === "message.part.updated" && part?.type === "tool" && part.state?.status === "error") {
      const call = { tool: part.tool, callID: part.callID, input: part.state.input };
      await toolEnded(session, call, true, part.state.error);
    } else if (event.type === "session.idle") {
      turns += 1;
      await push(session, requestId("idle", session, process.pid, turns, Date.now()), "heartbeat", "idle");
    } else if (event.type === "todo.updated" && Array.isArray(about.todos)) {
      snapshotLater(session, about.todos);
    } else if (event.type === "session.compacted") {
      prompts.delete(session);
    } else if (event.type === "session.deleted") {
      clearTimeout(snapshots.get(session));
      prompts.delete(session);
      open.delete(session);
      await hook("session-end", session, "SessionEnd");
    }
  }

  return {
    event,
    "chat.message": async (input, output) => {
      latest = input?.sessionID ?? latest;
      if (!latest) return;
      const parts = (output?.parts ?? []).filter((part) => part.type === "text" && !part.synthetic);
      const text = clip(parts.map((part) => part.text).join("\n"), PROMPT_CHARS_MAX);
      const id = requestId("prompt", latest, output?.message?.id ?? Date.now(), text);
      // First where the session is: what it asks belongs there.
      await context(latest);
      if (text.trim()) await push(latest, id, "user_prompt", text);
    },
    "experimental.chat.system.transform": async (input, output) => {
      const session = input?.sessionID ?? latest;
      const prompt = session ? await context(session) : undefined;
      if (prompt) output.system.push(prompt);
    },
    "experimental.session.compacting": async (input) => {
      if (!input?.sessionID) return;
      prompts.delete(input.sessionID);
      await hook("checkpoint", input.sessionID, "PreCompact");
    },
    "tool.execute.after": async (input, output) => {
      if (!NOTED_TOOLS.has(input?.tool)) return;
      const exit = output?.metadata?.exit;
      const failed = typeof exit === "number" && exit !== 0;
      const call = { tool: input.tool, callID: input.callID, input: input.args };
      await toolEnded(input.sessionID, call, failed, output?.output);
    },
  };
}

const LOADED = Symbol.for("writ.bridge");

/** The plugin. One for the user and one for the project are still one. */
export const WritBridge = async ({ directory, worktree }) => {
  const place = directory || worktree || process.cwd();
  globalThis[LOADED] ??= new Set();
  if (globalThis[LOADED].has(place)) return {};
  globalThis[LOADED].add(place);
  return createBridge(place);
};
