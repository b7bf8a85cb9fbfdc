import { ledgerOperations, type PlacedEntry } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { z } from "zod";
import { call } from "../../api/call.ts";
import { Facts } from "../../design/facts.tsx";
import { Hash } from "../../design/hash.tsx";
import { Panel } from "../../design/panel.tsx";

const Attestation = z.looseObject({
  type: z.literal("attestation"),
  key_id: z.string(),
  signature: z.string(),
  rules_checked: z.array(z.string()),
  predicate_results: z.array(z.boolean()),
});

/** Who signed an entry, and what they signed for. */
export function AttestationPanel({ entry }: { entry: PlacedEntry["entry"] }) {
  const { data: attestation } = Attestation.safeParse(entry.proof);
  const keys = useQuery({
    queryKey: ["ledger-keys"],
    queryFn: ({ signal }) => call(ledgerOperations.listLedgerKeys, { signal }),
    enabled: attestation !== undefined,
    staleTime: 60_000,
  });
  if (!attestation) return null;
  const key = keys.data?.keys.find(({ key_id }) => key_id === attestation.key_id);
  const checked = attestation.rules_checked.map(
    (rule, place) => `${rule}: ${attestation.predicate_results[place] ? "holds" : "does not hold"}`,
  );
  return (
    <Panel title="Attestation">
      <Facts
        facts={[
          ["Signed by", key?.holder ?? entry.actor],
          ["Key", <Hash key="key" value={attestation.key_id} length={16} />],
          ...(key
            ? ([
                [
                  "Announced",
                  `in entry ${key.announced}${key.retired === null ? "" : `, retired by entry ${key.retired}`}`,
                ],
              ] as const)
            : []),
          ["Signature", <Hash key="signature" value={attestation.signature} length={24} />],
          ...(checked.length > 0 ? ([["Checked", checked.join(", ")]] as const) : []),
        ]}
      />
    </Panel>
  );
}
