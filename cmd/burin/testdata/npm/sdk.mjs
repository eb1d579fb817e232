// A client made with the published SDK: node sdk.mjs SDK AGENT DIR. Its last line is what it saw.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [sdk, command, cwd] = process.argv.slice(2);
const acp = await import(sdk);
const child = spawn(command, [], { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));

const saw = { stops: [], text: "", replay: "", asked: 0, updates: [] };
let wake = () => {};
const app = acp
  .client({ name: "test" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    saw.asked++;
    const option = params.options.find((o) => o.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    const u = params.update;
    saw.updates.push(u.sessionUpdate);
    if (u.sessionUpdate === "agent_message_chunk" && u.content.type === "text") saw.text += u.content.text;
    wake();
  });
const said = (words) =>
  new Promise((resolve) => {
    wake = () => saw.text.includes(words) && resolve();
    wake();
  });

await app.connectWith(stream, async (agent) => {
  const { agent: methods } = acp.methods;
  const is = await agent.request(methods.initialize, { protocolVersion: 1, clientCapabilities: {} });
  if (!is.agentCapabilities.loadSession) throw new Error("it loads no sessions");
  const { sessionId } = await agent.request(methods.session.new, { cwd, mcpServers: [] });
  const prompt = async (text) => {
    const r = await agent.request(methods.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    saw.stops.push(r.stopReason);
  };
  await prompt("make it");
  const long = prompt("take long");
  await said("This");
  await agent.notify(methods.session.cancel, { sessionId });
  await long;
  await agent.request(methods.session.close, { sessionId });
  const before = saw.text;
  saw.text = "";
  await agent.request(methods.session.load, { sessionId, cwd, mcpServers: [] });
  saw.replay = saw.text;
  await prompt("and now?");
  saw.text = before;
});
child.stdin.end();
console.log(JSON.stringify(saw));
process.exit(0);
