// Runs every method of the pi family's own RPC client against burin and asserts what each
// leads to. Methods are found by reflection: one that has no check here fails.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { RpcClient } = await import(pathToFileURL(`${process.env.BURIN_NPM}/node_modules/@earendil-works/pi-coding-agent/dist/modes/rpc/rpc-client.js`));

const client = new RpcClient({ cliPath: process.env.BURIN_CLI, cwd: process.cwd() });
const types = (events) => events.map((e) => e.type);
const until = (type, match = () => true) =>
	new Promise((resolve, reject) => {
		const late = setTimeout(() => reject(new Error(`no ${type}`)), 20000);
		const off = client.onEvent((e) => {
			if (e.type === type && match(e)) {
				clearTimeout(late);
				off();
				resolve(e);
			}
		});
	});
const last = (events) => events.findLast((e) => e.type === "message_end" && e.message.role === "assistant").message;
const texts = async () => (await client.getMessages()).map((m) => (typeof m.content === "string" ? m.content : (m.content ?? []).map((b) => b.text ?? "").join("")));

const pixel = { type: "image", mimeType: "image/png", data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==" };

// In this order: later checks stand on earlier ones.
const checks = {
	async start() {
		await client.start();
		await assert.rejects(client.start(), /already started/);
	},
	async getState() {
		const s = await client.getState();
		assert.equal(s.model.provider, "box");
		assert.equal(s.model.id, "one");
		assert.equal(s.model.api, "anthropic-messages");
		assert.deepEqual(s.model.input, ["text", "image"]);
		assert.equal(s.model.contextWindow, 200000);
		assert.equal(s.model.cost.input, 3);
		assert.ok(s.model.baseUrl.startsWith("http://127.0.0.1"));
		assert.equal(s.isStreaming, false);
		assert.equal(s.isCompacting, false);
		assert.equal(s.steeringMode, "one-at-a-time");
		assert.equal(s.followUpMode, "one-at-a-time");
		assert.equal(s.messageCount, 0);
		assert.equal(s.pendingMessageCount, 0);
		assert.ok(s.sessionId);
	},
	async onEvent() {
		const heard = [];
		const off = client.onEvent((e) => heard.push(e.type));
		await client.promptAndWait("say heard");
		assert.ok(heard.includes("agent_start"));
		off();
		const n = heard.length;
		await client.promptAndWait("say not heard");
		assert.equal(heard.length, n);
	},
	async promptAndWait() {
		const events = await client.promptAndWait("say Hello, world!");
		const all = types(events);
		for (const type of ["agent_start", "turn_start", "message_start", "message_update", "message_end", "turn_end", "agent_end", "agent_settled"]) {
			assert.ok(all.includes(type), `no ${type} in ${all}`);
		}
		assert.equal(all.indexOf("agent_start"), 0);
		assert.equal(all.at(-1), "agent_settled");
		const deltas = events.filter((e) => e.type === "message_update" && e.assistantMessageEvent.type === "text_delta");
		assert.equal(deltas.map((e) => e.assistantMessageEvent.delta).join(""), "Hello, world!");
		assert.equal(deltas[0].usage.cost.total, 0);
		const m = last(events);
		assert.equal(m.stopReason, "stop");
		assert.equal(m.usage.output, 20);
		assert.ok(m.usage.cost.total > 0);
		const end = events.find((e) => e.type === "agent_end");
		assert.equal(end.willRetry, false);
		assert.equal(end.messages.at(-1).role, "assistant");
	},
	async collectEvents() {
		const events = client.collectEvents(20000);
		await client.prompt("call read go.mod");
		const all = await events;
		const call = all.find((e) => e.type === "tool_execution_start");
		assert.equal(call.toolName, "read");
		assert.deepEqual(call.args, { path: "go.mod" });
		const end = all.find((e) => e.type === "tool_execution_end");
		assert.equal(end.toolCallId, call.toolCallId);
		assert.equal(end.isError, false);
		assert.match(end.result.content[0].text, /module example/);
		const made = all.find((e) => e.type === "message_update" && e.assistantMessageEvent.type === "toolcall_end").assistantMessageEvent.toolCall;
		assert.equal(made.type, "toolCall");
		assert.deepEqual(made.arguments, { path: "go.mod" });
		assert.equal(all.find((e) => e.type === "turn_end").toolResults[0].role, "toolResult");
	},
	async prompt() {
		const settled = client.collectEvents(20000);
		await client.prompt("say seen", [pixel]);
		await settled;
		const m = (await client.getMessages()).findLast((m) => m.role === "user");
		assert.deepEqual(m.content.map((b) => b.type), ["text", "image"]);
		// While the model works, a prompt says how it is queued.
		const wait = client.waitForIdle(20000);
		const begun = until("turn_start");
		await client.prompt("hold");
		await begun;
		await assert.rejects(async () => client.getData(await client.send({ type: "prompt", message: "now" })), /streamingBehavior/);
		await client.abort();
		await wait;
	},
	async waitForIdle() {
		const idle = client.waitForIdle(20000);
		await client.prompt("say idle");
		await idle;
		assert.equal((await client.getState()).isStreaming, false);
		await assert.rejects(client.waitForIdle(50), /Timeout/);
	},
	async getLastAssistantText() {
		assert.equal(await client.getLastAssistantText(), "idle");
	},
	async getMessages() {
		const all = await client.getMessages();
		assert.equal(all.find((m) => m.role !== "custom").role, "user");
		assert.ok(all.some((m) => m.role === "toolResult" && m.toolName === "read"));
		assert.ok((await texts()).includes("Hello, world!"));
	},
	async steer() {
		const idle = client.collectEvents(20000);
		const begun = until("turn_start");
		await client.prompt("gate say first");
		await begun;
		const queued = until("queue_update", (e) => e.steering.length === 1);
		await client.steer("say steered");
		assert.deepEqual((await queued).steering, ["say steered"]);
		assert.equal((await client.getState()).pendingMessageCount, 1);
		await fetch(process.env.BURIN_FREE);
		assert.equal(last(await idle).content[0].text, "steered");
	},
	async followUp() {
		const idle = client.collectEvents(20000);
		const begun = until("turn_start");
		await client.prompt("gate say second");
		await begun;
		const queued = until("queue_update", (e) => e.followUp.length === 1);
		await client.followUp("say followed", [pixel]);
		assert.deepEqual((await queued).followUp, ["say followed"]);
		await fetch(process.env.BURIN_FREE);
		const events = await idle;
		assert.equal(last(events).content[0].text, "followed");
		assert.equal(types(events).filter((t) => t === "agent_settled").length, 1);
	},
	async clearQueue() {
		const idle = client.waitForIdle(20000);
		const begun = until("turn_start");
		await client.prompt("gate say third");
		await begun;
		await client.steer("one");
		await client.followUp("two");
		assert.deepEqual(await client.clearQueue(), { steering: ["one"], followUp: ["two"] });
		await fetch(process.env.BURIN_FREE);
		await idle;
		assert.equal(await client.getLastAssistantText(), "third");
	},
	async abort() {
		const begun = until("turn_start");
		await client.prompt("hold");
		await begun;
		assert.equal((await client.getState()).isStreaming, true);
		const settled = until("agent_settled");
		await client.abort();
		assert.equal((await client.getState()).isStreaming, false);
		await settled;
		assert.equal((await client.getMessages()).at(-1).stopReason, "aborted");
	},
	async getAvailableModels() {
		const all = (await client.getAvailableModels()).filter((m) => m.provider === "box");
		assert.deepEqual(all.map((m) => m.id).sort(), ["one", "two"]);
	},
	async setModel() {
		const m = await client.setModel("box", "two");
		assert.equal(m.id, "two");
		assert.equal(m.reasoning, true);
		assert.equal((await client.getState()).model.id, "two");
		await assert.rejects(client.setModel("box", "nine"), /not found/i);
	},
	async cycleModel() {
		const r = await client.cycleModel();
		assert.equal(r.isScoped, false);
		assert.equal(r.model.id, "one");
		assert.equal((await client.getState()).model.id, "one");
		await client.cycleModel();
		assert.equal((await client.getState()).model.id, "two");
	},
	async getAvailableThinkingLevels() {
		assert.deepEqual(await client.getAvailableThinkingLevels(), ["off", "minimal", "low", "medium", "high"]);
	},
	async setThinkingLevel() {
		const changed = until("thinking_level_changed");
		await client.setThinkingLevel("low");
		assert.equal((await changed).level, "low");
		assert.equal((await client.getState()).thinkingLevel, "low");
		await assert.rejects(async () => client.getData(await client.send({ type: "set_thinking_level", level: "deep" })), /deep/);
	},
	async cycleThinkingLevel() {
		assert.deepEqual(await client.cycleThinkingLevel(), { level: "medium" });
		assert.equal((await client.getState()).thinkingLevel, "medium");
		await client.setModel("box", "one");
		assert.equal(await client.cycleThinkingLevel(), null);
		assert.deepEqual(await client.getAvailableThinkingLevels(), ["off"]);
	},
	async setSteeringMode() {
		await client.setSteeringMode("all");
		assert.equal((await client.getState()).steeringMode, "all");
	},
	async setFollowUpMode() {
		await client.setFollowUpMode("all");
		assert.equal((await client.getState()).followUpMode, "all");
	},
	async setAutoRetry() {
		await client.setAutoRetry(false);
		let events = await client.promptAndWait("fail");
		assert.ok(!types(events).includes("auto_retry_start"));
		assert.equal(last(events).stopReason, "error");
		await client.setAutoRetry(true);
		events = await client.promptAndWait("fail once");
		const retry = events.find((e) => e.type === "auto_retry_start");
		assert.equal(retry.attempt, 1);
		assert.ok(retry.maxAttempts > 0 && retry.delayMs >= 0 && retry.errorMessage);
		assert.equal(events.find((e) => e.type === "agent_end").willRetry, true);
		assert.equal(events.find((e) => e.type === "auto_retry_end").success, true);
	},
	async abortRetry() {
		const idle = client.collectEvents(20000);
		const retry = until("auto_retry_start");
		await client.prompt("fail");
		await retry;
		await client.abortRetry();
		const events = await idle;
		assert.equal(events.find((e) => e.type === "auto_retry_end").success, false);
		assert.ok(events.find((e) => e.type === "auto_retry_end").finalError);
	},
	async setAutoCompaction() {
		await client.setAutoCompaction(false);
		assert.equal((await client.getState()).autoCompactionEnabled, false);
		await client.setAutoCompaction(true);
		assert.equal((await client.getState()).autoCompactionEnabled, true);
	},
	async bash() {
		const pieces = [];
		const off = client.onEvent((e) => e.type === "bash_execution_update" && pieces.push(e));
		const r = await client.bash("echo out; exit 3");
		off();
		assert.deepEqual({ ...r, output: r.output.trim() }, { output: "out", exitCode: 3, cancelled: false, truncated: false });
		assert.equal(pieces.map((e) => e.delta).join("").trim(), "out");
		assert.match(pieces[0].id, /^req_/);
		const m = (await client.getMessages()).at(-1);
		assert.equal(m.role, "bashExecution");
		assert.equal(m.command, "echo out; exit 3");
		await client.promptAndWait("say after the command");
		assert.match(await (await fetch(process.env.BURIN_ASKED)).text(), /echo out; exit 3/);
	},
	async abortBash() {
		const begun = until("bash_execution_update");
		const run = client.bash("echo begun; sleep 60");
		await begun;
		await client.abortBash();
		assert.equal((await run).cancelled, true);
	},
	async getSessionStats() {
		const s = await client.getSessionStats();
		assert.equal(s.sessionId, (await client.getState()).sessionId);
		assert.ok(s.userMessages > 5 && s.assistantMessages > 5);
		assert.equal(s.toolCalls, 1);
		assert.equal(s.toolResults, 1);
		assert.ok(s.tokens.input > 0 && s.tokens.total >= s.tokens.input + s.tokens.output);
		assert.ok(s.cost > 0);
		assert.equal(s.contextUsage.contextWindow, 200000);
		assert.ok(s.contextUsage.percent > 0);
	},
	async setSessionName() {
		const changed = until("session_info_changed", (e) => e.name === "the work");
		await client.setSessionName("  the work ");
		await changed;
		assert.equal((await client.getState()).sessionName, "the work");
		await assert.rejects(async () => client.getData(await client.send({ type: "set_session_name", name: " " })), /empty/);
	},
	async exportHtml() {
		const { path } = await client.exportHtml("page.html");
		assert.match(readFileSync(path, "utf8"), /Hello, world!/);
	},
	async getEntries() {
		const { entries, leafId } = await client.getEntries();
		assert.equal(entries.at(-1).id, leafId);
		const at = entries.findIndex((e) => e.type === "message");
		assert.ok(entries[at].message.role);
		const since = await client.getEntries(entries[at].id);
		assert.equal(since.entries.length, entries.length - at - 1);
		await assert.rejects(client.getEntries("nothing"), /nothing/);
	},
	async getTree() {
		const { tree, leafId } = await client.getTree();
		let n = 0;
		const walk = (nodes) => nodes.forEach((node) => (n++, assert.ok(node.entry.id), walk(node.children)));
		walk(tree);
		assert.equal(n, (await client.getEntries()).entries.length);
		assert.ok(leafId);
	},
	async getCommands() {
		const c = (await client.getCommands()).find((c) => c.name === "greet");
		assert.equal(c.source, "prompt");
		assert.equal(c.description, "Greets somebody");
		assert.ok(existsSync(c.sourceInfo.path));
		const events = await client.promptAndWait("/greet Ada");
		assert.equal(last(events).content[0].text, "Hello Ada");
	},
	async compact() {
		const [start, end] = [until("compaction_start"), until("compaction_end")];
		const [start2, end2] = [until("auto_compaction_start"), until("auto_compaction_end")];
		const r = await client.compact("keep the numbers");
		assert.match(r.summary, /SUMMARY/);
		assert.ok(r.firstKeptEntryId);
		assert.ok(r.tokensBefore > 0);
		assert.equal((await start).reason, "manual");
		assert.equal((await end).result.summary, r.summary);
		assert.equal((await end).aborted, false);
		await start2;
		assert.equal((await end2).willRetry, false);
		const m = (await client.getMessages())[0];
		assert.equal(m.role, "compactionSummary");
		assert.match(await (await fetch(process.env.BURIN_ASKED)).text(), /keep the numbers/);
	},
	async getForkMessages() {
		const all = await client.getForkMessages();
		assert.equal(all[0].text, "say heard");
		assert.ok(all.every((m) => m.entryId && m.text));
	},
	async fork() {
		const before = await client.getState();
		const from = (await client.getForkMessages()).find((m) => m.text === "say Hello, world!");
		const r = await client.fork(from.entryId);
		assert.deepEqual(r, { text: "say Hello, world!", cancelled: false });
		const after = await client.getState();
		assert.notEqual(after.sessionId, before.sessionId);
		assert.ok(!(await texts()).includes("Hello, world!"));
		assert.ok((await texts()).includes("not heard"));
		await assert.rejects(client.fork("nothing"), /nothing/);
	},
	async clone() {
		const before = await client.getState();
		assert.deepEqual(await client.clone(), { cancelled: false });
		const after = await client.getState();
		assert.notEqual(after.sessionId, before.sessionId);
		assert.equal(after.messageCount, before.messageCount);
		await client.promptAndWait("say in the clone");
		assert.ok((await texts()).includes("in the clone"));
		state.clone = (await client.getState()).sessionFile;
	},
	async newSession() {
		const before = await client.getState();
		assert.deepEqual(await client.newSession(before.sessionFile), { cancelled: false });
		const after = await client.getState();
		assert.notEqual(after.sessionId, before.sessionId);
		assert.equal(after.messageCount, 0);
		await client.promptAndWait("say fresh");
		const head = JSON.parse(readFileSync((await client.getState()).sessionFile, "utf8").split("\n")[0]);
		assert.equal(head.parentSession, before.sessionFile);
	},
	async switchSession() {
		assert.deepEqual(await client.switchSession(state.clone), { cancelled: false });
		assert.ok((await texts()).includes("in the clone"));
		assert.equal((await client.getState()).sessionFile, state.clone);
		await assert.rejects(client.switchSession("nothing.jsonl"), /nothing.jsonl/);
	},
	async getStderr() {
		assert.equal(typeof client.getStderr(), "string");
	},
	async stop() {
		const began = Date.now();
		await client.stop();
		assert.ok(Date.now() - began < 1000, "it had to be killed");
		await assert.rejects(client.getState(), /not started/i);
	},
};
const state = {};

// What the client's own declarations call private.
const inner = readFileSync(`${process.env.BURIN_NPM}/node_modules/@earendil-works/pi-coding-agent/dist/modes/rpc/rpc-client.d.ts`, "utf8");
const isPrivate = (name) => new RegExp(`private ${name}\\b`).test(inner);
const methods = Object.getOwnPropertyNames(RpcClient.prototype).filter((n) => n !== "constructor" && !isPrivate(n));
for (const name of methods) assert.ok(checks[name], `RpcClient.${name} has no check`);
for (const name of Object.keys(checks)) assert.ok(methods.includes(name), `RpcClient has no ${name} any more`);

for (const [name, check] of Object.entries(checks)) {
	try {
		await check();
		console.log(`ok ${name}`);
	} catch (err) {
		console.log(`FAILED ${name}: ${err.stack}`);
		await client.stop();
		process.exit(1);
	}
}
