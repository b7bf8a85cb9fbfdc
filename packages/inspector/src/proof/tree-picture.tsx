import type { EntryProof } from "@reins/api";
import type { z } from "zod";
import { rootOf, sizeOf } from "./note.ts";
import { type TreeNode, treePath } from "./tree-path.ts";

const WIDTH = 360;
const LEVEL = 46;
const TOP = 26;
const MIDDLE = WIDTH / 2;
const BESIDE = 118;

/** The way from an entry up to the signed root, with the hashes beside it that the proof brings along. */
export function TreePicture({ proof }: { proof: z.infer<typeof EntryProof> }) {
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
        Squares are hashes that the proof brings along; the way in the middle is computed.
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
