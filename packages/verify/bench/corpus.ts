import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { blake3, leafHash, toHex } from "../src/bytes.ts";
import { CompactRange } from "../src/tree.ts";
import { attestation, type ExportLine, jcs, ORIGIN } from "../test/ledger-maker.ts";
import { Signer } from "../test/signer.ts";

/** Writes an export of a long ledger: `node corpus.ts FILE ENTRIES SIGNED`, one entry in SIGNED with a signature. */
const [path = "", count = "0", signedEvery = "10"] = process.argv.slice(2);

const SESSIONS = 64;
const CHECKPOINT_EVERY = 1_000;
const STEPS = ["policy_verdict", "tool_result", "tool_call"] as const;

const [system, agent, log] = [new Signer("reins:system"), new Signer("agent:writer"), new Signer("the log")];
const tree = new CompactRange();
const last = new Map<string, string>();
const lastTurn = new Map<string, string>();
const out = createWriteStream(path);

await write({
  kind: "header",
  format: "reins-ledger/1",
  origin: ORIGIN,
  log_key: log.verifierKey(ORIGIN),
  size: Number(count),
});
for (let seq = 0; seq < Number(count); seq += 1) {
  await write({ kind: "entry", seq, entry: entryAt(seq) });
  if (tree.size % CHECKPOINT_EVERY !== 0 && tree.size !== Number(count)) continue;
  await write({ kind: "checkpoint", note: log.checkpoint(ORIGIN, tree.size, tree.root()) });
}
await write({ kind: "end", size: Number(count) });
out.end();
await once(out, "close");

function entryAt(seq: number): ExportLine {
  if (seq < 2)
    return finish("policy_change", "reins:system", system, keyAdded(seq === 0 ? system : agent), seq);
  const session = `session-${seq % SESSIONS}`;
  if (seq % Number(signedEvery) === 0) {
    return finish("turn", session, agent, { inputs_hash: "a".repeat(64), outputs_hash: "b".repeat(64) }, seq);
  }
  const payload = {
    call: `call_${seq}`,
    input: { limit: 200, line: seq, path: `/workspace/project/src/module-${seq}.ts` },
    name: "fs/read_text_file",
    facts_digest: "c".repeat(64),
  };
  return finish(STEPS[seq % STEPS.length] ?? "tool_call", session, agent, payload, seq);
}

function keyAdded(signer: Signer): ExportLine {
  const public_key = signer.publicKey.toString("base64");
  return { change: "key_added", key_id: signer.keyId, holder: signer.holder, public_key };
}

function finish(quality: string, entity: string, by: Signer, payload: ExportLine, seq: number): ExportLine {
  const turn = quality === "turn";
  const parent = (turn ? lastTurn : last).get(entity);
  const unsigned: ExportLine = {
    entity_id: entity,
    target: "fs/read_text_file",
    quality,
    timestamp: new Date(Date.UTC(2026, 10, 15) + seq).toISOString(),
    source: entity,
    actor: by.holder,
    parents: parent === undefined ? [] : [parent],
    tags: ["tool:fs", "risk:low"],
    payload,
    proof: null,
    envelope: null,
  };
  const content =
    turn || quality === "policy_change" ? { ...unsigned, proof: attestation(unsigned, by) } : unsigned;
  const body = jcs(content);
  const digest = blake3(Buffer.from(body));
  const cid = toHex(digest);
  tree.append(leafHash(digest));
  last.set(entity, cid);
  if (turn) lastTurn.set(entity, cid);
  // As a ledger writes it: the members in their canonical order, as they are stored, behind the content id.
  const ordered: ExportLine = JSON.parse(body);
  return { cid, ...ordered };
}

async function write(line: ExportLine): Promise<void> {
  if (!out.write(`${JSON.stringify(line)}\n`)) await once(out, "drain");
}
