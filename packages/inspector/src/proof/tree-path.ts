/** A node of the tree: the range of leaves below it, `to` excluded. */
export interface TreeNode {
  readonly from: number;
  readonly to: number;
}

/** One step up the tree: the computed node and its sibling, whose hash the proof contains. */
interface TreeStep {
  readonly node: TreeNode;
  readonly sibling: TreeNode & { readonly side: "left" | "right"; readonly hash: string };
}

/** The path from a leaf to the root of an RFC 6962 tree, with the hashes of an inclusion proof. */
export function treePath(index: number, size: number, hashes: readonly string[]): TreeStep[] {
  const steps: { node: TreeNode; sibling: TreeNode & { side: "left" | "right" } }[] = [];
  let node: TreeNode = { from: 0, to: size };
  while (node.to - node.from > 1) {
    const middle = node.from + largestPowerBelow(node.to - node.from);
    const [left, right] = [
      { from: node.from, to: middle },
      { from: middle, to: node.to },
    ];
    const isLeft = index < middle;
    steps.unshift({ node, sibling: isLeft ? { ...right, side: "right" } : { ...left, side: "left" } });
    node = isLeft ? left : right;
  }
  return steps.map(({ node, sibling }, place) => ({
    node,
    sibling: { ...sibling, hash: hashes[place] ?? "" },
  }));
}

function largestPowerBelow(count: number): number {
  return 2 ** (Math.ceil(Math.log2(count)) - 1);
}

/** The signed number of entries that a checkpoint covers. */
export function sizeOf(note: string): number {
  return Number(note.split("\n")[1]);
}

/** The signed root of a checkpoint, base64. */
export function rootOf(note: string): string {
  return note.split("\n")[2] ?? "";
}
