const PIECE = 64 * 1024;

/** Lines gathered into pieces of a size that streams like; one longer than that is a piece of its own. */
export async function* inPieces(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = "";
  for await (const line of lines) {
    piece += line;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
}
