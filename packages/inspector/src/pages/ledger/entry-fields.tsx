import type { PlacedEntry } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { Badge } from "../../design/badge.tsx";
import { Facts } from "../../design/facts.tsx";
import { QualityBadge } from "../../design/quality.tsx";
import { visible } from "../../design/visible.ts";
import { EntryLink } from "../../proof/entry-link.tsx";

/** All twelve members of an entry; the payload has a place of its own. */
export function EntryFields({ entry }: { entry: PlacedEntry["entry"] }) {
  const { cid, entity_id, target, quality, timestamp, source, actor, parents, tags, proof, envelope } = entry;
  const exact = (text: string) => <code className="text-xs break-all">{visible(text)}</code>;
  return (
    <Facts
      facts={[
        ["cid", exact(cid)],
        ["entity_id", exact(entity_id)],
        ["target", exact(target)],
        ["quality", <QualityBadge key="quality" quality={quality} />],
        ["timestamp", exact(timestamp)],
        ["source", exact(source)],
        ["actor", exact(actor)],
        [
          "parents",
          parents.length === 0
            ? "none: it is the first of its chain"
            : parents.map((parent) => <EntryLink key={parent} cid={parent} />),
        ],
        [
          "tags",
          <span key="tags" className="flex flex-wrap gap-1">
            {tags.map((tag) => (
              <Link key={tag} to="/ledger" search={{ tag }} title={`All entries with the tag ${tag}`}>
                <Badge>{visible(tag)}</Badge>
              </Link>
            ))}
          </span>,
        ],
        ["payload", "below"],
        ["proof", proof === null ? "none" : exact(String(Object(proof).type))],
        [
          "envelope",
          envelope === null || envelope === undefined
            ? "none: it is not sealed"
            : exact(`sealed for ${String(Object(envelope).audience_label)}`),
        ],
      ]}
    />
  );
}
