// Starts burin and takes part in its session. What it writes is compared by
// cmd/burin/testdata/script/typescript.txt.
import { pathToFileURL } from "node:url";

const [, , root, program] = process.argv;
const { Session, BurinError, textOf } = await import(pathToFileURL(`${root}/dist/index.js`).href);

const say = (...words) => console.log(...words);
const session = Session.start({ program, args: ["--no-session", "--model", "openai/gpt-5.1", "--approval", "ask"] });

const events = await session.events();
const reading = (async () => {
  for await (const e of events) {
    if (e.type === "question_asked") {
      say("question", e.question.kind);
      await session.answer(e.question, { permission: { allow: false, note: "not today" } });
    }
    if (e.type === "message_end" && e.message?.role === "assistant") say("answer", textOf(e.message));
    if (e.type === "agent_settled") {
      say("settled", e.reason);
      return;
    }
  }
})();
const outcome = await session.prompt("Make a folder.");
await reading;
say("prompt", outcome.reason, outcome.text);
let pieces = "";
const run = await session.call("run", { command: "printf 'one two'" }, (piece) => {
  pieces += piece;
});
say("run", run.exitCode, run.output, pieces === run.output ? "in pieces" : pieces);
try {
  await session.call("set_mode", { text: "bold" });
} catch (e) {
  say("refused", e instanceof BurinError);
}
await session.close();
say("closed");
try {
  await session.call("policy", {});
} catch (e) {
  say("then", e.code);
}
