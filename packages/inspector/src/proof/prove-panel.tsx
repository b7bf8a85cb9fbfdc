import type { EntryProof } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import type { z } from "zod";
import { Badge } from "../design/badge.tsx";
import { Button, SaveLink } from "../design/button.tsx";
import { visible } from "../design/format.ts";
import { Panel } from "../design/layout.tsx";
import { Loaded } from "../design/states.tsx";
import {
  type ProofStep,
  type Proved,
  proveEntry,
  rootOf,
  sizeOf,
  type TreeNode,
  treePath,
} from "./prove-entry.ts";

const MARKS = {
  holds: ["✓", "text-good"],
  fails: ["✗", "text-bad"],
  open: ["·", "text-ink-faint"],
} as const;

/** Verifies an entry on the page step by step and draws its path in the tree. */
export function ProvePanel({ cid }: { cid: string }) {
  const query = useQuery({
    queryKey: ["proof", cid],
    queryFn: ({ signal }) => proveEntry(cid, signal),
    staleTime: Infinity,
  });
  const { data, isFetching, refetch } = query;
  return (
    <Panel
      title={<span className="flex items-center gap-2">Proof {data && <Outcome steps={data.steps} />}</span>}
      actions={
        <>
          {data && (
            <SaveLink
              name={`proof-${cid.slice(0, 12)}.json`}
              text={data.file}
              title="Verify this file anywhere: reins ledger verify <file>"
            >
              Save the proof
            </SaveLink>
          )}
          <Button
            onClick={() => void refetch()}
            disabled={isFetching}
            title="Fetches the proof again and checks it in this page"
          >
            {isFetching ? "Checking …" : "Prove it"}
          </Button>
        </>
      }
    >
      <Loaded query={query} what="Verifying the proof">
        {(proved) => <Steps proved={proved} />}
      </Loaded>
    </Panel>
  );
}

function Outcome({ steps }: { steps: readonly ProofStep[] }) {
  const fails = steps.some(({ state }) => state === "fails");
  return <Badge tone={fails ? "bad" : "good"}>{fails ? "does not hold" : "holds"}</Badge>;
}

function Steps({ proved: { steps, proof } }: { proved: Proved }) {
  return (
    <>
      <ol aria-label="Steps of the proof" className="flex flex-col gap-1.5 px-3 py-2 text-sm">
        {steps.map(({ title, state, detail }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an entry may follow several, and each is a step of the same name
          <li key={place} className="grid grid-cols-[1rem_minmax(0,1fr)] gap-x-2">
            <span className={MARKS[state][1]}>
              <span aria-hidden="true">{MARKS[state][0]}</span>
              <span className="sr-only">{state}: </span>
            </span>
            <span>
              <span className={state === "fails" ? "font-medium text-bad" : "font-medium"}>{title}</span>
              <span className="block text-2xs break-words text-ink-soft">{visible(detail)}</span>
            </span>
          </li>
        ))}
      </ol>
      <p className="border-t border-line px-3 py-2 text-2xs text-ink-faint">
        Verified on this page by an independent checker, without trusting the server.
      </p>
      <TreePicture proof={proof} />
    </>
  );
}

const WIDTH = 360;
const LEVEL = 46;
const TOP = 26;
const MIDDLE = WIDTH / 2;
const BESIDE = 118;

/** Draws the path from an entry to the signed root, with the sibling hashes of the proof. */
function TreePicture({ proof }: { proof: z.infer<typeof EntryProof> }) {
  const { index, hashes, checkpoint, entry } = proof;
  const size = sizeOf(checkpoint);
  const steps = treePath(index, size, hashes);
  const levelOf = (level: number) => TOP + (steps.length - level) * LEVEL;
  return (
    <figure className="border-t border-line px-3 py-3">
      <svg
        role="img"
        aria-label={`Entry ${index} leads by ${steps.length} steps to the root of ${size} entries`}
        viewBox={`0 0 ${WIDTH} ${levelOf(0) + 34}`}
        className="mx-auto w-full max-w-md"
      >
        {steps.map(({ sibling }, level) => (
          <g key={`${sibling.from}-${sibling.to}`}>
            <path
              d={`M${MIDDLE} ${levelOf(level)}V${levelOf(level + 1)}`}
              className="fill-none stroke-accent"
              strokeWidth="2"
            />
            <path
              d={`M${besideOf(sibling.side)} ${levelOf(level)}C${besideOf(sibling.side)} ${levelOf(level) - 24} ${MIDDLE} ${levelOf(level + 1) + 26} ${MIDDLE} ${levelOf(level + 1) + 4}`}
              className="fill-none stroke-line-strong"
            />
            <rect
              x={besideOf(sibling.side) - 6}
              y={levelOf(level) - 6}
              width="12"
              height="12"
              rx="2"
              className="fill-surface stroke-line-strong"
            />
            <Label x={besideOf(sibling.side)} y={levelOf(level) + 18}>
              {leavesOf(sibling)} · {sibling.hash.slice(0, 8)}
            </Label>
          </g>
        ))}
        <circle cx={MIDDLE} cy={levelOf(0)} r="6" className="fill-accent" />
        <Label x={MIDDLE} y={levelOf(0) + 20} isStrong>
          entry {index} · {entry.cid.slice(0, 8)}
        </Label>
        {steps.map(({ node }, level) => (
          <circle key={node.to - node.from} cx={MIDDLE} cy={levelOf(level + 1)} r="4" className="fill-accent">
            <title>{leavesOf(node)}</title>
          </circle>
        ))}
        <Label x={MIDDLE} y={TOP - 12} isStrong>
          root of {size} · {rootOf(checkpoint).slice(0, 8)}
        </Label>
      </svg>
      <figcaption className="text-center text-2xs text-ink-faint">
        Squares are hashes from the proof; the path in the middle is computed.
      </figcaption>
    </figure>
  );
}

function Label({
  x,
  y,
  isStrong,
  children,
}: {
  x: number;
  y: number;
  isStrong?: boolean;
  children: React.ReactNode;
}) {
  return (
    <text
      x={x}
      y={y}
      textAnchor="middle"
      className={`font-mono text-[9.5px] ${isStrong ? "fill-ink" : "fill-ink-faint"}`}
    >
      {children}
    </text>
  );
}

function besideOf(side: "left" | "right"): number {
  return side === "left" ? MIDDLE - BESIDE : MIDDLE + BESIDE;
}

function leavesOf({ from, to }: TreeNode): string {
  return to - from === 1 ? `${from}` : `${from}–${to - 1}`;
}
