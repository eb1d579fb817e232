// What the pi family's client starts as its program: burin, in this process's place.
const { spawn } = require("node:child_process");

const burin = spawn(process.env.BURIN_BIN, process.argv.slice(2), { argv0: "burin", stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => burin.kill(signal));
burin.on("exit", (code, signal) => process.exit(signal ? 1 : code));
