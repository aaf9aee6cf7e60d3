import type { ReactNode } from 'react'

export interface ContentsEntry {
  /** Of the section that the link leads to. */
  id: string
  title: string
  /** How it stands there, in a word. */
  state?: ReactNode
}

/** The parts of a long page, beside it from 1024 px on. */
export function PageContents({ entries, children }: { entries: ContentsEntry[]; children?: ReactNode }) {
  return (
    <aside className="sticky top-24 hidden w-80 shrink-0 flex-col gap-4 self-start lg:flex">
      <nav aria-label="On this page" className="card-box py-2 md:py-2">
        <ul className="divide-y">
          {entries.map(({ id, title, state }) => (
            <li key={id}>
              <a
                href={`#${id}`}
                className="flex min-h-11 items-center justify-between gap-3 rounded-mark hover:text-primary"
              >
                <span className="font-medium">{title}</span>
                <span className="tabular text-compact text-muted-foreground">{state}</span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {children}
    </aside>
  )
}
