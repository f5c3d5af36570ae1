import { BOX, draw } from './graph';
import { holderOf, type NameOf } from './LeaseLine';
import { spelled } from '@/ui/text';
import { held, type Node, resourcesOf, wanted } from './tree';

const LETTERS_MAX = 22;

function short(text: string): string {
  const letters = [...spelled(text)];
  return letters.length > LETTERS_MAX
    ? `${letters.slice(0, LETTERS_MAX - 1).join('')}…`
    : letters.join('');
}

function nameFor(node: Node, nameOf: NameOf): string {
  const who = spelled(holderOf(node.leases[0], nameOf));
  const waits = resourcesOf(wanted(node.leases));
  return waits.length > 0
    ? `${who} waits for ${waits.join(', ')}`
    : `${who} holds ${resourcesOf(held(node.leases)).join(', ')}`;
}

/** The wait tree as a graph: arrows lead to the root blockers. */
export function GraphView({ root, nameOf }: { root: Node; nameOf: NameOf }) {
  const { boxes, lines, width, height, left } = draw(root);
  return (
    <>
      <div className="overflow-auto py-2" tabIndex={0} role="group" aria-label="Graph">
        <svg
          role="list"
          width={width + 2}
          height={height + 2}
          viewBox={`-1 -1 ${width + 2} ${height + 2}`}
          className="block"
        >
          <g aria-hidden="true">
            {lines.map(({ from, to }, index) => {
              const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
              const [x2, y2] = [to.x - 6, to.y + BOX.height / 2];
              const middle = (x1 + x2) / 2;
              return (
                <g
                  key={index}
                  className={from.node.isCircle ? 'stroke-high-mark' : 'stroke-line-strong'}
                >
                  <path
                    d={`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`}
                    fill="none"
                    strokeWidth={from.node.isCircle ? 3 : 1.4}
                  />
                  <path
                    d={`M${x2 - 2} ${y2 - 4}L${x2 + 5} ${y2}L${x2 - 2} ${y2 + 4}`}
                    fill="none"
                    strokeWidth={1.4}
                  />
                </g>
              );
            })}
          </g>
          {boxes.map(({ node, x, y }, index) => (
            <g
              key={index}
              role="listitem"
              tabIndex={0}
              aria-label={nameFor(node, nameOf)}
              transform={`translate(${x} ${y})`}
            >
              <rect
                width={BOX.width}
                height={BOX.height}
                rx="6"
                className="fill-surface stroke-line-strong"
              />
              <text x="10" y="18" className="fill-ink text-[13px] font-medium">
                {short(holderOf(node.leases[0], nameOf))}
              </text>
              <text x="10" y="35" className="fill-ink-2 font-mono text-[11px]">
                {short(
                  (resourcesOf(wanted(node.leases))[0] &&
                    `waits ${resourcesOf(wanted(node.leases))[0]}`) ??
                    resourcesOf(held(node.leases)).join(', '),
                )}
              </text>
            </g>
          ))}
        </svg>
      </div>
      {left > 0 && <p className="text-meta text-medium">{left} more are not drawn.</p>}
    </>
  );
}
