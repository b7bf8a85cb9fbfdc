import { describe, expect, it } from "vitest";
import { attestation, type ExportLine, LedgerMaker, type Said } from "../test/ledger-maker.ts";
import { faultsOf, verifyWhole } from "../test/read.ts";
import { Signer } from "../test/signer.ts";
import { entryOf, resealed } from "../test/tamper.ts";

const agent = new Signer("agent:writer");
const [first, second] = [new Signer("ada"), new Signer("ada", 1)];

async function faultsIn(build: (ledger: LedgerMaker) => void): Promise<string[]> {
  const ledger = new LedgerMaker();
  build(ledger);
  ledger.checkpoint();
  return faultsOf(await verifyWhole(ledger.lines(), { logKey: ledger.logKey }));
}

function turn(by: Signer): Said {
  return { quality: "turn", entity: "session:one", by };
}

describe("a key", () => {
  it("signs from its announcement on", async () => {
    expect(
      await faultsIn((ledger) => {
        ledger.append(turn(agent));
        ledger.announce(agent);
        ledger.append(turn(agent));
      }),
    ).toEqual(["key_unknown@1"]);
  });

  it("does not sign its own announcement", async () => {
    expect(
      await faultsIn((ledger) => {
        const payload = added(first);
        ledger.append({ quality: "policy_change", by: first, payload });
      }),
    ).toEqual(["key_unknown@1", "key_not_by_system@1"]);
  });

  it("signs for its holder only", async () => {
    expect(
      await faultsIn((ledger) => {
        ledger.announce(first);
        ledger.append({ ...turn(agent), proof: {} });
        const entry = ledger.entries.pop()!;
        const unsigned = { ...entry, proof: null };
        ledger.entries.push(resealed({ ...entry, proof: attestation(withoutCid(unsigned), first) }));
      }),
    ).toEqual(["key_holder@2"]);
  });

  it("stops when it is retired; what it signed before stays valid", async () => {
    expect(
      await faultsIn((ledger) => {
        ledger.announce(first);
        ledger.append(turn(first));
        ledger.retire(first);
        ledger.announce(second);
        ledger.append(turn(second));
        ledger.append(turn(first));
      }),
    ).toEqual(["key_retired@6"]);
  });

  it("may be the system's own, and then signs its own retirement", async () => {
    const successor = new Signer("reins:system", 1);
    expect(
      await faultsIn((ledger) => {
        ledger.announce(successor);
        ledger.retire(ledger.system);
        ledger.append({ quality: "policy_change", by: successor, payload: { change: "constitution" } });
        ledger.append({ quality: "policy_change", payload: { change: "constitution" } });
      }),
    ).toEqual(["key_retired@4"]);
  });

  it("is announced once, and retired once", async () => {
    expect(
      await faultsIn((ledger) => {
        ledger.retire(first);
        ledger.announce(first);
        ledger.announce(first);
        ledger.retire(first);
        ledger.retire(first);
      }),
    ).toEqual(["key_unknown@1", "key_repeated@3", "key_repeated@5"]);
  });

  it("is announced by the system only, in the system's chain", async () => {
    expect(
      await faultsIn((ledger) => {
        ledger.announce(first);
        ledger.append({ quality: "policy_change", by: first, payload: added(second) });
        ledger.append({ quality: "policy_change", entity: "session:one", payload: added(agent) });
        ledger.append({ quality: "tool_result", by: first, payload: added(new Signer("another")) });
      }),
    ).toEqual(["key_not_by_system@2", "key_not_by_system@3"]);
  });

  it.each([
    ["an id that is not its own", { ...added(first), key_id: "0".repeat(16) }],
    ["no holder", { change: "key_added", key_id: first.keyId, public_key: added(first).public_key ?? null }],
    ["a key of another length", { ...added(first), public_key: "AAAA" }],
    ["something beside", { ...added(first), expires: "never" }],
    ["nothing to retire", { change: "key_retired" }],
  ])("is not announced or retired with %s", async (_, payload) => {
    const faults = await faultsIn((ledger) => ledger.append({ quality: "policy_change", payload }));
    expect(new Set(faults)).toEqual(new Set(["key_malformed@1"]));
  });
});

describe("an entry", () => {
  it.each(["turn", "approval", "policy_change", "kill"])(
    "of quality %s has to be signed",
    async (quality) => {
      const unsigned = { quality, signed: false };
      expect(await faultsIn((ledger) => ledger.append(unsigned))).toEqual(["attestation_missing@1"]);
      const proof = { type: "zk_stark", stark_proof: "AA", public_inputs: {} };
      expect(await faultsIn((ledger) => ledger.append({ ...unsigned, proof }))).toEqual([
        "attestation_missing@1",
      ]);
    },
  );

  it("of another quality may be signed, and then the signature counts", async () => {
    expect(await faultsIn((ledger) => ledger.append({ quality: "tool_call", signed: true }))).toEqual([]);
    expect(
      await faultsIn((ledger) => ledger.append({ quality: "tool_call", signed: true, by: agent })),
    ).toEqual(["key_unknown@1"]);
  });

  const proof = {
    type: "attestation",
    key_id: "0".repeat(16),
    rules_checked: [],
    predicate_results: [],
    signature: "A".repeat(86).concat("=="),
  };
  it.each([
    ["no type", { key_id: "" }],
    ["another type", { ...proof, type: "oath" }],
    ["a short signature", { ...proof, signature: "AAAA" }],
    ["no result for a rule", { ...proof, rules_checked: ["one"] }],
    ["a rule that is no text", { ...proof, rules_checked: [1], predicate_results: [true] }],
    ["a result that is no boolean", { ...proof, rules_checked: ["one"], predicate_results: ["yes"] }],
    ["something beside", { ...proof, note: "" }],
    ["half a proof of computation", { type: "zk_stark", stark_proof: "AA" }],
  ])("has no proof with %s", async (_, malformed) => {
    const faults = await faultsIn((ledger) => ledger.append({ quality: "tool_call", proof: malformed }));
    expect(new Set(faults)).toEqual(new Set(["proof_malformed@1"]));
  });
});

describe("the first entry", () => {
  async function faultsWith(change: (lines: ExportLine[]) => ExportLine[]): Promise<string[]> {
    const ledger = new LedgerMaker();
    ledger.entries.splice(0, 1, ...change(ledger.lines()).map(entryOf));
    ledger.checkpoint();
    return faultsOf(await verifyWhole(ledger.lines()));
  }

  it("announces the system's key", async () => {
    expect(await faultsWith(([, line]) => [line!])).toEqual([]);
    const other = new LedgerMaker();
    other.append({ quality: "tool_call", entity: "session:one" });
    expect(await faultsWith(() => other.lines().slice(2, 3))).toEqual(["first_entry@0"]);
  });

  it("is signed with that very key", async () => {
    const faults = await faultsWith(([, line]) => {
      const { cid: _, ...content } = entryOf(line);
      const entry = resealed({ cid: "", ...content, proof: attestation({ ...content, proof: null }, first) });
      return [{ kind: "entry", seq: 0, entry }];
    });
    expect(faults).toEqual(["first_entry@0", "key_unknown@0"]);
  });

  it("is not by anybody else", async () => {
    const faults = await faultsWith(([, line]) => {
      const { cid: _, ...content } = entryOf(line);
      const unsigned = { ...content, actor: first.holder, payload: added(first), proof: null };
      const entry = resealed({ cid: "", ...unsigned, proof: attestation(unsigned, first) });
      return [{ kind: "entry", seq: 0, entry }];
    });
    expect(faults).toEqual(["first_entry@0", "key_not_by_system@0"]);
  });
});

function added(signer: Signer): ExportLine {
  const public_key = signer.publicKey.toString("base64");
  return { change: "key_added", key_id: signer.keyId, holder: signer.holder, public_key };
}

function withoutCid({ cid: _, ...content }: ExportLine): ExportLine {
  return content;
}
