#!/usr/bin/env node
// Starts the program for this platform, passes signals on to it, and exits as it does.
"use strict";

const { spawn } = require("node:child_process");

const name = `windlass-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/windlass`);
} catch {
  console.error(`error: the package ${name} is not installed, or this platform is not supported`);
  console.error("hint: install without --omit=optional, or build from source with cargo");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// The terminal sends SIGINT to both. Without a handler, Node would exit while Windlass still stops its agents.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
