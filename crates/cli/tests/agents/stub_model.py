#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Local stub model server (stdlib only, loopback only).

Speaks, on one port:
  Anthropic Messages      POST /v1/messages[?beta=true] (SSE + plain), /v1/messages/count_tokens
  OpenAI Responses        POST /v1/responses           (SSE + plain)
  OpenAI Chat Completions POST /v1/chat/completions    (SSE + plain)
  Gemini                  POST /v1beta/models/M:{generateContent,streamGenerateContent,countTokens}
  GET /v1/models, /healthz, GET /__log (requests seen), POST /__reset

The *prompt* scripts the model:   STUB[[ <json list of steps> ]]
  step = {"text": "..."}                     answer with text
       | {"tool": "NAME", "args": {...}}     call a tool (text optional too)
       | {"tools": [{"tool":..,"args":..}]}  parallel calls
       | {"grep": "REGEX"}                   answer "GREP:<match>" / "GREP:none" over the whole request body
       | {"status": 529, "message": "..."}   HTTP error (add "times": N to fail only the first N requests)
       | {"delay": 2.5, ...}                 sleep first (per step)
       | {"hang": 60}                        open the stream, send the start event, then sleep
       | {"drop": true}                      close the socket mid-stream
  Step index = number of model turns already present after the last message that
  holds the directive, so it is stateless and works with resume.
  Without a directive: $STUB_DEFAULT (steps; the index counts all model turns), else text "STUB-OK".
  $STUB_CUT is a regular expression (dot matches newlines, multi-line) whose matches are removed before
  directives are looked for: older prompts quoted in an injected brief must not script a new conversation.
A tool step is downgraded to text when the request offers no tools (title/summary side calls).
A tool name may be a regex when it starts with "~" (first offered tool that matches).
"""
import argparse, json, os, re, sys, threading, time, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlparse, parse_qs

LOG = []
LOCK = threading.Lock()
LOGFILE = None
FAILS = {}
USAGE_IN, USAGE_OUT = 1234, 56


def flat(c):
    """text of any content shape"""
    if c is None:
        return ""
    if isinstance(c, str):
        return c
    if isinstance(c, list):
        return "\n".join(flat(x) for x in c)
    if isinstance(c, dict):
        if c.get("type") in ("tool_result", "function_call_output", "tool_use", "function_call"):
            return ""
        return flat(c.get("text") if "text" in c else c.get("content", c.get("parts")))
    return str(c)


def find_directive(text):
    """last STUB[[...]] in text; the bracketed part is plain JSON (a list in a list), so nesting in strings is fine"""
    cut = os.environ.get("STUB_CUT")
    if cut:
        text = re.sub(cut, "", text, flags=re.S | re.M)
    i, got = 0, None
    while True:
        i = text.find("STUB[[", i)
        if i < 0:
            return got
        try:
            v, end = json.JSONDecoder().raw_decode(text, i + 4)
            got, i = v[0], end
        except ValueError:
            i += 6


def plan(turns):
    """turns: list of (who, text) with who in user|model|tool -> (steps, idx)"""
    last, steps = None, None
    for i, (who, text) in enumerate(turns):
        if who == "user":
            d = find_directive(text)
            if d:
                last, steps = i, d
    if steps is None:
        d = os.environ.get("STUB_DEFAULT")
        return (json.loads(d) if d else [{"text": "STUB-OK"}]), (sum(1 for who, _ in turns if who == "model") if d else 0)
    return steps, steps_done(turns[last + 1:], steps)


def steps_done(turns, steps):
    """A program that loads a conversation may put the calls of several turns into one: its entry has their number."""
    done = 0
    for calls in (what for who, what in turns if who == "model"):
        left = calls if isinstance(calls, int) else 1
        while left > 0:
            step = steps[done] if done < len(steps) else {}
            left -= len(step.get("tools") or [step])
            done += 1
    return done


def norm_step(step, tools):
    out = dict(step)
    calls = out.get("tools") or ([{"tool": out["tool"], "args": out.get("args", {})}] if "tool" in out else [])
    res = []
    for c in calls:
        name = c["tool"]
        if name.startswith("~"):
            name = next((t for t in tools if re.search(name[1:], t)), None)
        if not tools or name is None:
            continue
        res.append((name, c.get("args", {})))
    out["calls"] = res
    if not res and "text" not in out:
        out["text"] = "STUB-OK"
    return out


class H(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *a):
        pass

    # ---- plumbing
    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            buf = b""
            while True:
                n = int(self.rfile.readline().strip() or b"0", 16)
                if n == 0:
                    self.rfile.readline()
                    return buf
                buf += self.rfile.read(n)
                self.rfile.readline()
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send_json(self, obj, status=200, headers=()):
        b = json.dumps(obj).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(b)))
        for k, v in headers:
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(b)

    def sse_begin(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.send_header("request-id", "req_" + uuid.uuid4().hex[:16])
        self.end_headers()
        self.close_connection = True

    def sse(self, data, event=None):
        s = ""
        if event:
            s += f"event: {event}\n"
        s += "data: " + (data if isinstance(data, str) else json.dumps(data)) + "\n\n"
        self.wfile.write(s.encode())
        self.wfile.flush()

    def record(self, path, obj, raw):
        e = {"t": time.time(), "method": self.command, "path": path,
             "headers": {k.lower(): v for k, v in self.headers.items()}, "body": obj if obj is not None else raw}
        with LOCK:
            LOG.append(e)
            if LOGFILE:
                with open(LOGFILE, "a") as f:
                    f.write(json.dumps(e) + "\n")

    # ---- dispatch
    def do_HEAD(self):
        self.record(self.path, None, "")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        p = urlparse(self.path).path
        if p == "/healthz":
            return self.send_json({"ok": True})
        if p == "/__log":
            with LOCK:
                return self.send_json(LOG)
        self.record(self.path, None, "")
        if p.endswith("/models"):
            ids = ["stub-model", "claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro"]
            return self.send_json({"object": "list", "data": [
                {"id": i, "object": "model", "type": "model", "display_name": i, "created": 1700000000,
                 "created_at": "2025-01-01T00:00:00Z", "owned_by": "stub"} for i in ids], "models": [], "has_more": False})
        return self.send_json({"error": {"type": "not_found_error", "message": "stub: no " + p}}, 404)

    def do_POST(self):
        raw = self.body()
        p = urlparse(self.path).path
        if p == "/__reset":
            with LOCK:
                LOG.clear()
                FAILS.clear()
            return self.send_json({"ok": True})
        try:
            obj = json.loads(raw) if raw else {}
        except ValueError:
            obj = None
        self.record(self.path, obj, raw.decode("utf8", "replace")[:20000])
        self.rawtext = raw.decode("utf8", "replace")
        try:
            if p.endswith("/messages/count_tokens"):
                return self.send_json({"input_tokens": max(1, len(raw) // 4)})
            if p.endswith("/messages"):
                return self.ant_messages(obj)
            if p.endswith("/responses"):
                return self.oai_responses(obj)
            if p.endswith("/chat/completions"):
                return self.oai_chat(obj)
            m = re.search(r"/models/([^/:]+):(\w+)$", p)
            if m:
                return self.gem_generate(obj, m.group(1), m.group(2))
            return self.send_json({"error": {"type": "not_found_error", "message": "stub: no " + p}}, 404)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def step(self, turns, tools):
        steps, idx = plan(turns)
        s = norm_step(steps[idx] if idx < len(steps) else {"text": "STUB-DONE"}, tools)
        if s.get("delay"):
            time.sleep(float(s["delay"]))
        if "grep" in s:
            t = self.rawtext
            # the directive itself is part of the request: do not match it
            t = re.sub(r"STUB\[\[.*?\]\]", "", t, flags=re.S)
            m = re.search(s["grep"], t)
            s["text"] = "GREP:" + (m.group(0) if m else "none")
        return s

    def maybe_error(self, s, shape):
        if "status" not in s:
            return False
        key = json.dumps({k: v for k, v in s.items() if k != "calls"}, sort_keys=True)
        if "times" in s:
            with LOCK:
                FAILS[key] = FAILS.get(key, 0) + 1
                if FAILS[key] > s["times"]:
                    s.setdefault("text", "STUB-OK")
                    return False
        msg = s.get("message", "stub error")
        hdr = [("retry-after", str(s["retry_after"]))] if "retry_after" in s else []
        typ = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
               429: "rate_limit_error", 529: "overloaded_error"}.get(s["status"], "api_error")
        if shape == "anthropic":
            self.send_json({"type": "error", "error": {"type": typ, "message": msg}}, s["status"], hdr)
        elif shape == "gemini":
            self.send_json({"error": {"code": s["status"], "message": msg, "status": s.get("gstatus", "INTERNAL")}}, s["status"], hdr)
        else:
            self.send_json({"error": {"message": msg, "type": typ, "code": s.get("code")}}, s["status"], hdr)
        return True

    def stall(self, s):
        if s.get("hang"):
            time.sleep(float(s["hang"]))
        if s.get("drop"):
            self.close_connection = True
            try:
                self.connection.shutdown(2)
            except OSError:
                pass
            return True
        return False

    # ---- Anthropic Messages
    def ant_messages(self, o):
        turns = []
        for m in o.get("messages", []):
            if m["role"] == "assistant":
                turns.append(("model", ""))
            else:
                t = flat(m.get("content"))
                c = m.get("content")
                is_tool = isinstance(c, list) and any(isinstance(x, dict) and x.get("type") == "tool_result" for x in c)
                turns.append(("tool" if is_tool and not find_directive(t) else "user", t))
        tools = [t.get("name") for t in o.get("tools") or []]
        s = self.step(turns, tools)
        if self.maybe_error(s, "anthropic"):
            return
        blocks = []
        if s.get("thinking"):
            blocks.append({"type": "thinking", "thinking": s["thinking"], "signature": "c3R1Yg=="})
        if s.get("text"):
            blocks.append({"type": "text", "text": s["text"]})
        for n, a in s["calls"]:
            blocks.append({"type": "tool_use", "id": "toolu_" + uuid.uuid4().hex[:24], "name": n, "input": a})
        stop = s.get("stop_reason") or ("tool_use" if s["calls"] else "end_turn")
        usage = {"input_tokens": s.get("usage_in", USAGE_IN), "output_tokens": USAGE_OUT,
                 "cache_creation_input_tokens": 10, "cache_read_input_tokens": 20}
        msg = {"id": "msg_" + uuid.uuid4().hex[:24], "type": "message", "role": "assistant", "model": o.get("model", "stub-model"),
               "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}
        if not o.get("stream"):
            return self.send_json(msg)
        self.sse_begin()
        start = dict(msg, content=[], stop_reason=None, usage=dict(usage, output_tokens=1))
        self.sse({"type": "message_start", "message": start}, "message_start")
        if self.stall(s):
            return
        for i, b in enumerate(blocks):
            if b["type"] == "text":
                self.sse({"type": "content_block_start", "index": i, "content_block": {"type": "text", "text": ""}}, "content_block_start")
                for part in [b["text"][:len(b["text"]) // 2], b["text"][len(b["text"]) // 2:]]:
                    self.sse({"type": "content_block_delta", "index": i, "delta": {"type": "text_delta", "text": part}}, "content_block_delta")
            elif b["type"] == "thinking":
                self.sse({"type": "content_block_start", "index": i, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}, "content_block_start")
                self.sse({"type": "content_block_delta", "index": i, "delta": {"type": "thinking_delta", "thinking": b["thinking"]}}, "content_block_delta")
                self.sse({"type": "content_block_delta", "index": i, "delta": {"type": "signature_delta", "signature": b["signature"]}}, "content_block_delta")
            else:
                self.sse({"type": "content_block_start", "index": i, "content_block": dict(b, input={})}, "content_block_start")
                self.sse({"type": "content_block_delta", "index": i, "delta": {"type": "input_json_delta", "partial_json": json.dumps(b["input"])}}, "content_block_delta")
            self.sse({"type": "content_block_stop", "index": i}, "content_block_stop")
        self.sse({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}, "message_delta")
        self.sse({"type": "message_stop"}, "message_stop")

    # ---- OpenAI Responses
    def oai_responses(self, o):
        inp = o.get("input")
        if isinstance(inp, str):
            inp = [{"type": "message", "role": "user", "content": inp}]
        turns = []
        for it in inp or []:
            t = it.get("type", "message")
            if t == "message" and it.get("role") != "assistant":
                turns.append(("user" if it.get("role") == "user" else "system", flat(it.get("content"))))
            elif t.endswith("_output"):
                turns.append(("tool", ""))
            elif not turns or turns[-1][0] != "model":
                turns.append(("model", ""))
        tools = []
        for t in o.get("tools") or []:
            if t.get("type") == "namespace":
                tools += [t["name"] + "." + u["name"] for u in t.get("tools", [])]
            else:
                tools.append(t.get("name") or t.get("type"))
        s = self.step(turns, tools)
        if self.maybe_error(s, "openai"):
            return
        items = []
        if s.get("thinking"):
            items.append({"type": "reasoning", "id": "rs_" + uuid.uuid4().hex[:16], "summary": [{"type": "summary_text", "text": s["thinking"]}]})
        if s.get("text"):
            items.append({"type": "message", "id": "msg_" + uuid.uuid4().hex[:16], "status": "completed", "role": "assistant",
                          "content": [{"type": "output_text", "text": s["text"], "annotations": []}]})
        custom = {t.get("name") for t in o.get("tools") or [] if t.get("type") == "custom"}
        for n, a in s["calls"]:
            if n in custom:
                items.append({"type": "custom_tool_call", "id": "ctc_" + uuid.uuid4().hex[:16], "call_id": "call_" + uuid.uuid4().hex[:16],
                              "name": n, "input": a if isinstance(a, str) else a.get("input", json.dumps(a)), "status": "completed"})
            else:
                ns = None
                if "." in n:
                    ns, n = n.split(".", 1)
                it = {"type": "function_call", "id": "fc_" + uuid.uuid4().hex[:16], "call_id": "call_" + uuid.uuid4().hex[:16],
                      "name": n, "arguments": a if isinstance(a, str) else json.dumps(a), "status": "completed"}
                if ns:
                    it["namespace"] = ns
                items.append(it)
        usage = {"input_tokens": USAGE_IN, "input_tokens_details": {"cached_tokens": 20}, "output_tokens": USAGE_OUT,
                 "output_tokens_details": {"reasoning_tokens": 7}, "total_tokens": USAGE_IN + USAGE_OUT}
        resp = {"id": "resp_" + uuid.uuid4().hex[:24], "object": "response", "created_at": int(time.time()), "status": "completed",
                "model": o.get("model", "stub-model"), "output": items, "usage": usage, "error": None, "incomplete_details": None}
        if not o.get("stream"):
            return self.send_json(resp)
        self.sse_begin()
        n = 0

        def ev(t, **k):
            nonlocal n
            self.sse(dict(type=t, sequence_number=n, **k), t)
            n += 1
        ev("response.created", response=dict(resp, status="in_progress", output=[], usage=None))
        ev("response.in_progress", response=dict(resp, status="in_progress", output=[], usage=None))
        if self.stall(s):
            return
        for i, it in enumerate(items):
            if it["type"] == "message":
                txt = it["content"][0]["text"]
                ev("response.output_item.added", output_index=i, item=dict(it, status="in_progress", content=[]))
                ev("response.content_part.added", item_id=it["id"], output_index=i, content_index=0, part={"type": "output_text", "text": "", "annotations": []})
                ev("response.output_text.delta", item_id=it["id"], output_index=i, content_index=0, delta=txt)
                ev("response.output_text.done", item_id=it["id"], output_index=i, content_index=0, text=txt)
                ev("response.content_part.done", item_id=it["id"], output_index=i, content_index=0, part=it["content"][0])
            elif it["type"] == "function_call":
                ev("response.output_item.added", output_index=i, item=dict(it, status="in_progress", arguments=""))
                ev("response.function_call_arguments.delta", item_id=it["id"], output_index=i, delta=it["arguments"])
                ev("response.function_call_arguments.done", item_id=it["id"], output_index=i, arguments=it["arguments"])
            elif it["type"] == "custom_tool_call":
                ev("response.output_item.added", output_index=i, item=dict(it, status="in_progress", input=""))
                ev("response.custom_tool_call_input.delta", item_id=it["id"], output_index=i, delta=it["input"])
                ev("response.custom_tool_call_input.done", item_id=it["id"], output_index=i, input=it["input"])
            else:
                ev("response.output_item.added", output_index=i, item=dict(it, summary=[]))
                ev("response.reasoning_summary_part.added", item_id=it["id"], output_index=i, summary_index=0, part={"type": "summary_text", "text": ""})
                ev("response.reasoning_summary_text.delta", item_id=it["id"], output_index=i, summary_index=0, delta=it["summary"][0]["text"])
                ev("response.reasoning_summary_text.done", item_id=it["id"], output_index=i, summary_index=0, text=it["summary"][0]["text"])
            ev("response.output_item.done", output_index=i, item=it)
        ev("response.completed", response=resp)

    # ---- OpenAI Chat Completions
    def oai_chat(self, o):
        turns = []
        for m in o.get("messages", []):
            r = m.get("role")
            turns.append(("model" if r == "assistant" else "tool" if r == "tool" else "user" if r == "user" else "system", flat(m.get("content"))))
        tools = [t.get("function", {}).get("name") for t in o.get("tools") or []]
        s = self.step(turns, tools)
        if self.maybe_error(s, "openai"):
            return
        calls = [{"id": "call_" + uuid.uuid4().hex[:16], "type": "function", "function": {"name": n, "arguments": a if isinstance(a, str) else json.dumps(a)}} for n, a in s["calls"]]
        fin = "tool_calls" if calls else "stop"
        usage = {"prompt_tokens": USAGE_IN, "completion_tokens": USAGE_OUT, "total_tokens": USAGE_IN + USAGE_OUT,
                 "prompt_tokens_details": {"cached_tokens": 20}, "completion_tokens_details": {"reasoning_tokens": 7}}
        base = {"id": "chatcmpl-" + uuid.uuid4().hex[:16], "created": int(time.time()), "model": o.get("model", "stub-model")}
        if not o.get("stream"):
            msg = {"role": "assistant", "content": s.get("text")}
            if calls:
                msg["tool_calls"] = calls
            return self.send_json(dict(base, object="chat.completion", choices=[{"index": 0, "message": msg, "finish_reason": fin}], usage=usage))
        self.sse_begin()

        def ch(delta, fr=None):
            self.sse(dict(base, object="chat.completion.chunk", choices=[{"index": 0, "delta": delta, "finish_reason": fr}]))
        ch({"role": "assistant", "content": ""})
        if self.stall(s):
            return
        if s.get("text"):
            ch({"content": s["text"]})
        for i, c in enumerate(calls):
            ch({"tool_calls": [dict(c, index=i)]})
        ch({}, fin)
        self.sse(dict(base, object="chat.completion.chunk", choices=[], usage=usage))
        self.sse("[DONE]")

    # ---- Gemini
    def gem_generate(self, o, model, verb):
        if verb == "countTokens":
            return self.send_json({"totalTokens": 42})
        if verb in ("embedContent", "batchEmbedContents"):
            return self.send_json({"embeddings": [{"values": [0.0, 0.1]}]})
        turns = []
        for c in o.get("contents", []):
            if c.get("role") == "model":
                turns.append(("model", max(1, sum("functionCall" in p for p in c.get("parts", [])))))
            else:
                is_tool = any("functionResponse" in p for p in c.get("parts", []))
                t = flat([p.get("text") for p in c.get("parts", []) if "text" in p])
                turns.append(("tool" if is_tool and not find_directive(t) else "user", t))
        tools = [f["name"] for t in o.get("tools") or [] for f in t.get("functionDeclarations", [])]
        s = self.step(turns, tools)
        if self.maybe_error(s, "gemini"):
            return
        parts = []
        gc = o.get("generationConfig") or {}
        text = s.get("text")
        if gc.get("responseMimeType") == "application/json" or gc.get("responseJsonSchema"):
            text = json.dumps(s.get("json") or {"model_choice": "pro", "reasoning": "stub", "complexity_reasoning": "stub", "complexity_score": 50,
                                               "next_speaker": "user", "selected_model": model})
        if text:
            parts.append({"text": text})
        for n, a in s["calls"]:
            parts.append({"functionCall": {"id": "fc_" + uuid.uuid4().hex[:12], "name": n, "args": a}})
        out = {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
               "usageMetadata": {"promptTokenCount": USAGE_IN, "candidatesTokenCount": USAGE_OUT, "totalTokenCount": USAGE_IN + USAGE_OUT,
                                 "cachedContentTokenCount": 20, "thoughtsTokenCount": 7},
               "modelVersion": model, "responseId": uuid.uuid4().hex[:16]}
        if verb.startswith("stream"):
            self.sse_begin()
            if self.stall(s):
                return
            self.sse(out)
        else:
            self.send_json(out)


def main():
    global LOGFILE
    ap = argparse.ArgumentParser()
    ap.add_argument("--port", type=int, default=0)
    ap.add_argument("--log", help="append requests as JSON lines")
    ap.add_argument("--port-file")
    a = ap.parse_args()
    LOGFILE = a.log
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer.request_queue_size = 64
    s = ThreadingHTTPServer(("127.0.0.1", a.port), H)
    if a.port_file:
        with open(a.port_file, "w") as f:
            f.write(str(s.server_address[1]))
    print("stub on 127.0.0.1:%d" % s.server_address[1], flush=True)
    try:
        s.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
