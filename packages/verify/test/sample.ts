import { LedgerMaker } from "./ledger-maker.ts";
import { Signer } from "./signer.ts";

/** A ledger in which everything of the format happens once. */
interface Sample {
  readonly ledger: LedgerMaker;
  readonly agent: Signer;
  readonly person: Signer;
  /** The checkpoint in the middle, such as a verifier may have kept. */
  readonly seen: string;
  /** How many entries it covers. */
  readonly seenSize: number;
}

const CONSTITUTION = "c0ffee00".repeat(8);

/** Makes the sample; always the same. */
export function makeSample(): Sample {
  const ledger = new LedgerMaker();
  const [agent, person, successor] = [
    new Signer("agent:writer"),
    new Signer("ada"),
    new Signer("agent:writer", 1),
  ];
  ledger.announce(agent);
  ledger.announce(person);
  ledger.append({
    quality: "policy_change",
    by: person,
    payload: { change: "constitution", constitution_hash: CONSTITUTION },
  });
  ledger.checkpoint();
  const [first, second] = ["session:one", "session:two"];
  ledger.append({ quality: "session_lifecycle", entity: first, payload: { state: "started" }, by: agent });
  ledger.append({
    quality: "turn",
    entity: first,
    by: agent,
    payload: { inputs_hash: "a".repeat(64), number: 0.1 },
  });
  ledger.append({ quality: "session_lifecycle", entity: second, payload: { state: "started" }, by: agent });
  ledger.append({
    quality: "tool_call",
    entity: first,
    by: agent,
    target: "fs/write",
    payload: { path: "/w/ä €😂.txt", bytes: 1e21, text: 'a "quoted"\n\u0007 text' },
    tags: ["tool:fs", "risk:high"],
  });
  ledger.append({
    quality: "policy_verdict",
    entity: first,
    payload: { verdict: "ask", rules: [1, -0.5, 1e-7] },
  });
  ledger.append({ quality: "approval", entity: first, by: person, payload: { decision: "allow" } });
  const content = ledger.keepPrivate("what the tool said");
  ledger.append({
    quality: "tool_result",
    entity: first,
    by: agent,
    payload: { ok: true, output: [content] },
  });
  const seen = ledger.checkpoint();
  const seenSize = ledger.entries.length;
  ledger.append({
    quality: "tool_result",
    entity: second,
    payload: { output: ledger.keepPrivate("gone", true) },
  });
  ledger.append({
    quality: "mailbox_inject",
    entity: second,
    envelope: envelope(),
    payload: { sealed: true },
  });
  ledger.append({ quality: "turn", entity: first, by: agent, payload: { outputs_hash: "b".repeat(64) } });
  ledger.append({
    quality: "tool_result",
    entity: second,
    proof: { type: "zk_stark", stark_proof: "AAAA", public_inputs: [1, 2] },
  });
  ledger.checkpoint();
  ledger.announce(successor);
  ledger.retire(agent);
  ledger.append({ quality: "turn", entity: second, by: successor, payload: {} });
  ledger.append({ quality: "kill", entity: second, by: person, payload: { reason: "enough" } });
  ledger.checkpoint();
  return { ledger, agent, person, seen, seenSize };
}

/** A well-formed envelope without a key that opens it. */
export function envelope(fill = 7): { audience_label: string; encrypted_key: string; ciphertext: string } {
  const bytes = (length: number) => Buffer.alloc(length, fill).toString("base64url");
  return {
    audience_label: "auditors",
    encrypted_key: `v1.0011223344556677.${bytes(32)}.${bytes(60)}`,
    ciphertext: bytes(70),
  };
}
