// Joins a session at the address in a file and takes part in it. What it writes is compared
// by cmd/burin/testdata/script/typescript.txt.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , root, file] = process.argv;
const { Session, BurinError } = await import(pathToFileURL(`${root}/dist/index.js`).href);

const say = (...words) => console.log(...words);
const session = await Session.connect(readFileSync(file, "utf8").trim(), { name: "node" });
say("welcome");

const events = await session.events();
const settled = (async () => {
  for await (const e of events) {
    if (e.type === "question_asked") {
      say("question", e.question.permission.request.tool, e.question.permission.request.access[0].target);
      await session.answer(e.question, { permission: { allow: true } });
    }
    if (e.type === "tool_execution_start") say("call", e.toolName, e.args.command);
    if (e.type === "agent_settled") {
      say("settled", e.reason);
      return;
    }
  }
})();
const first = await session.prompt("What is here?");
await settled;
say("said", first.text);

const more = await session.events();
await session.call("set_title", { text: "Photos" });
for await (const e of more) {
  if (e.type === "title_changed") {
    say("title", e.text);
    break;
  }
}
say("policy", (await session.call("change_policy", { steering: "all" })).steering);
await session.send("The build is red.", { customType: "ci", when: "next" });
say("said", (await session.prompt("Is it?")).text);
let pieces = "";
const aside = await session.call("aside", { text: "And beside?" }, (piece) => {
  pieces += piece;
});
say("aside", pieces === aside.text ? aside.text : `${pieces} is not ${aside.text}`);
try {
  await session.call("set_thinking", 7);
} catch (e) {
  say("error", e instanceof BurinError && e.message ? "something" : e);
}
await session.close();
say("left");
