import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  changed,
  connected,
  firstOf,
  holding,
  otherPids,
  quietly,
  secret,
  type Try,
  targets,
  write,
} from "./tools.ts";

const UP = "/..".repeat(10);

/** What is tried on a free machine too, where all of it has to succeed: else it would prove nothing that it fails. */
export const FREE_ATTEMPTS: Readonly<Record<string, Try>> = {
  "find a process of the machine": () =>
    firstOf(otherPids(), (pid) => holding(readFileSync(`/proc/${pid}/cmdline`, "utf8"))),
  "read the environment of a process of the machine": () =>
    firstOf(otherPids(), (pid) => holding(readFileSync(`/proc/${pid}/environ`, "utf8"))),
  "read through the root of another process": () =>
    firstOf(otherPids(), (pid) => holding(readFileSync(`/proc/${pid}/root${secret}`, "utf8"))),
  "read through the folder of another process": () =>
    firstOf(otherPids(), (pid) => holding(readFileSync(`/proc/${pid}/cwd${UP}${secret}`, "utf8"))),
  "signal a process of the machine": () => (process.kill(targets.pid, 0) ? "reached it" : undefined),

  "read our database": () => holding(readFileSync(secret, "utf8")),
  "list our home": () => readdirSync(targets.reins).find((name) => name === basename(secret)),
  "read a key in the user's home": () => holding(readFileSync(targets.key, "utf8")),
  "list the user's home": () => readdirSync(dirname(dirname(targets.key))).find((name) => name === ".ssh"),
  "reach a socket in our home": () => connected({ path: targets.socket }),
  "read shared memory": () => holding(readFileSync(targets.shared, "utf8")),

  "write a file outside": () => write(targets.outside),
  "write beside a file outside": () => write(`${targets.outside}.new`),
  "write through a symbolic link": () => {
    symlinkSync(targets.outside, join(targets.workspace, "symbolic"));
    return write(join(targets.workspace, "symbolic"));
  },
  "race a symbolic link": () => raced(),
  "remove a file outside": () => {
    rmSync(targets.outside);
    return "removed it";
  },

  "reach an abstract socket": () => connected({ path: `\0${targets.abstract}` }),
  "reach a port of the machine": () => connected({ host: "127.0.0.1", port: targets.port }),
  "send a datagram to the machine": () => sent(),
};

/** A name leads inside and outside in turn while it is written to. */
async function raced(): Promise<string | undefined> {
  const name = join(targets.workspace, "race");
  const inside = join(targets.workspace, "inside");
  const script = `cd ${targets.workspace}; : > ${inside}; i=0
while [ $i -lt ${targets.rounds} ]; do
  ln -sfn ${inside} race.new; mv -T race.new race; ln -sfn ${targets.outside} race.new; mv -T race.new race; i=$((i + 1))
done`;
  const flipping = spawn("sh", ["-c", script], { stdio: "ignore" });
  const done = once(flipping, "exit");
  writeFileSync(inside, "");
  let ended = false;
  void done.then(() => {
    ended = true;
  });
  while (!ended) {
    for (let round = 0; round < 100; round += 1) quietly(() => writeFileSync(name, targets.canary));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return changed();
}

/** Whether a datagram arrives is seen outside; here, only whether it left. */
async function sent(): Promise<string | undefined> {
  const socket = createSocket("udp4");
  try {
    await new Promise<void>((resolve, reject) =>
      socket.send(targets.canary, targets.port, "127.0.0.1", (error) => (error ? reject(error) : resolve())),
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    return targets.confined ? undefined : "sent it";
  } finally {
    socket.close();
  }
}
