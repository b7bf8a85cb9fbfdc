import { readMarkdown } from "../declaration/markdown.ts";

/** The headings that a final report has, as a `final_report_spec` fixes them, and what is wrong with a report. */
export function reportFaults(report: string, sections: readonly string[]): string[] {
  const found = readMarkdown(report).sections;
  const wanted = sections.map((section) => section.trim().normalize("NFC"));
  const faults = wanted.flatMap((section) => {
    const [one, ...others] = found.filter(({ id }) => id === section);
    if (!one) return [`the section ${JSON.stringify(section)} is missing`];
    if (others.length > 0)
      return [`the section ${JSON.stringify(section)} stands ${others.length + 1} times`];
    return one.text.trim() === "" ? [`the section ${JSON.stringify(section)} is empty`] : [];
  });
  const order = found.map(({ id }) => id).filter((id) => wanted.includes(id));
  const isOrdered = order.join("\n") === wanted.join("\n");
  return faults.length > 0 || isOrdered ? faults : [`the sections are not in the order ${wanted.join(", ")}`];
}
