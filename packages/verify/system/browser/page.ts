import { formatReport, type VerifyOptions, verifyFile } from "../../src/index.ts";

/** What the page offers to the test: verifies the base64 of a file and returns the report, as JSON and for a person. */
async function verifyBase64(encoded: string, options: VerifyOptions): Promise<string> {
  const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  const report = await verifyFile(new Blob([bytes]).stream(), options);
  return JSON.stringify({ report, text: formatReport(report) });
}

Object.assign(globalThis, { verifyBase64 });
