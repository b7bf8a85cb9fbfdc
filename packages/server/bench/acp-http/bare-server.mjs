// What any server in Node costs: takes messages over HTTP and WebSocket, passes them on to an agent, and its back.
// Nothing is decided or checked. The second argument adds a step: with "sync" each prompt first waits for the disk once;
// with "thread" it waits for a durable row of a database that another thread owns; with "record" that thread also
// compresses, hashes and signs what Reins records of a prompt, and messages are written to a file before they are sent.
import { spawn } from "node:child_process";
import { generateKeyPairSync, hash, sign } from "node:crypto";
import { fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { deflateSync } from "node:zlib";
import SqliteDatabase from "better-sqlite3";
import { WebSocketServer } from "ws";

if (isMainThread) serve();
else write(workerData);

/** The thread that owns the database: a durable transaction for each prompt. */
function write({ path, isSigned }) {
  const database = new SqliteDatabase(path);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  database.exec(
    "CREATE TABLE entries (seq INTEGER PRIMARY KEY, cid TEXT NOT NULL UNIQUE, body BLOB NOT NULL)",
  );
  const insert = database.prepare("INSERT INTO entries (cid, body) VALUES (?, ?)");
  const { privateKey } = generateKeyPairSync("ed25519");
  let parent = "";
  const add = (body) => {
    parent = hash("sha256", body);
    insert.run(parent, isSigned ? deflateSync(body) : Buffer.from(body));
  };
  const record = database.transaction((text) => {
    add(JSON.stringify({ text, parent }));
    // The verdict on the prompt, the turn before it with its signature, and the messages of that turn.
    if (!isSigned) return;
    const turn = JSON.stringify({ turn: text, parent });
    add(JSON.stringify({ turn, signature: sign(null, Buffer.from(turn), privateKey).toString("base64") }));
    add(JSON.stringify({ messages: [text, text], parent }));
  });
  parentPort.on("message", ({ id, text }) => {
    record(text);
    parentPort.postMessage(id);
  });
}

/** Serves until its parent is gone. */
function serve() {
  const [, , stub, step, path] = process.argv;
  const RECORD = Buffer.alloc(4_096, "x");
  /** Written over again and again, as the log of a database is: a file that grows takes the disk half as long again. */
  const PLACES = 1_024;
  const file = step === "sync" || step === "record" ? openSync(path, "w", 0o600) : undefined;
  let place = 0;
  if (file !== undefined) {
    writeSync(file, Buffer.alloc(PLACES * RECORD.length));
    fsyncSync(file);
  }

  function writeRecord(text) {
    writeSync(file, text, 0, text.length, place * RECORD.length);
    place = (place + 1) % PLACES;
  }

  const data = { path: `${path}.db`, isSigned: step === "record" };
  const writer =
    step === "thread" || step === "record"
      ? new Worker(new URL(import.meta.url), { workerData: data })
      : undefined;
  const recorded = new Map();
  let prompts = 0;
  writer?.on("message", (id) => {
    recorded.get(id)?.();
    recorded.delete(id);
  });

  /** An agent of its own, and what is done with each of its lines. */
  function agent(take) {
    const child = spawn(process.execPath, [stub], { stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (step === "record" && line.length < RECORD.length) writeRecord(Buffer.from(line));
      take(line);
    });
    process.once("disconnect", () => child.kill());
    return (text) => {
      const send = () => child.stdin.write(`${text}\n`);
      if (!text.includes('"session/prompt"')) return send();
      if (step === "sync") {
        writeRecord(RECORD);
        fdatasyncSync(file);
      }
      if (!writer) return send();
      prompts += 1;
      recorded.set(prompts, send);
      writer.postMessage({ id: prompts, text });
    };
  }

  let stream;
  const waiting = new Map();
  const pass = agent((line) => {
    const { id, method } = JSON.parse(line);
    if (method !== undefined) return stream?.write(`data: ${line}\n\n`);
    waiting.get(id)?.(line);
    waiting.delete(id);
  });

  const server = createServer((request, response) => {
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      stream = response;
      return;
    }
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const text = Buffer.concat(pieces).toString();
      waiting.set(JSON.parse(text).id, (line) => {
        const length = Buffer.byteLength(line);
        response.writeHead(200, {
          "content-type": "application/json",
          "content-length": length,
          "x-acp-connection-id": "1",
        });
        response.end(line);
      });
      pass(text);
    });
  });

  new WebSocketServer({ server, perMessageDeflate: false }).on("connection", (socket) => {
    const say = agent((line) => socket.send(line));
    socket.on("message", (data) => say(JSON.stringify(JSON.parse(String(data)))));
  });

  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    process.send({ address: `http://127.0.0.1:${port}`, token: "none", workspace: tmpdir() });
  });
  process.once("disconnect", () => process.exit());
}
