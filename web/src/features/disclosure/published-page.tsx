import { useQuery } from '@tanstack/react-query'
import { Printer } from 'lucide-react'
import { EmptyState } from '@/components/empty-state'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { formatDay } from '@/lib/dates'
import { publishedTextsQuery, type PublishedText } from '@/lib/platform'
import { chaptersOf } from './published-text'

function Contents({ chapters }: { chapters: ReturnType<typeof chaptersOf> }) {
  const titled = chapters.filter((chapter) => chapter.title)
  if (titled.length < 2) return null
  return (
    <nav aria-label="Contents" data-print="no" className="lg:sticky lg:top-24 lg:col-start-2 lg:self-start">
      <p className="font-semibold">Contents</p>
      <ol className="mt-1">
        {titled.map((chapter) => (
          <li key={chapter.id}>
            <a
              href={`#${chapter.id}`}
              className="text-link inline-flex min-h-9 items-center pointer-coarse:min-h-11"
            >
              {chapter.title}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  )
}

function Text({ published }: { published: PublishedText }) {
  const chapters = chaptersOf(published.text)
  return (
    <div className="grid gap-8 lg:grid-cols-[minmax(0,1fr)_280px]">
      <Contents chapters={chapters} />
      <div className="flex flex-col gap-4 lg:col-start-1 lg:row-start-1">
        <div className="flex flex-wrap items-center justify-between gap-3 text-muted-foreground">
          <p>
            Version {published.version}, published {formatDay(new Date(published.published_at))}
          </p>
          <Button data-print="no" variant="outline" size="compact" onClick={() => print()}>
            <Printer aria-hidden />
            Print
          </Button>
        </div>
        {chapters.map((chapter) => (
          <section key={chapter.id} id={chapter.id} className="flex flex-col gap-3">
            {chapter.title ? <h2 className="mt-4 text-section">{chapter.title}</h2> : null}
            {chapter.paragraphs.map((paragraph) => (
              <p key={paragraph} className="whitespace-pre-line">
                {paragraph}
              </p>
            ))}
          </section>
        ))}
      </div>
    </div>
  )
}

/** A text that the operator publishes: the terms, or what can be lost. */
function PublishedPage(props: { kind: 'terms' | 'risk'; title: string; purpose: string }) {
  const query = useQuery(publishedTextsQuery)
  return (
    <div className="page-gutter mx-auto flex max-w-[1168px] flex-col gap-6 py-8">
      <PageHead title={props.title} purpose={props.purpose} />
      <Region
        query={query}
        errorText="The text could not be loaded."
        skeleton={<Skeleton className="h-40" />}
      >
        {(texts) => {
          const published = texts[props.kind]
          return published ? (
            <Text published={published} />
          ) : (
            <EmptyState drawing="ledger" title="The operator has not published this yet. This is a demo." />
          )
        }}
      </Region>
    </div>
  )
}

export function TermsPage() {
  return <PublishedPage kind="terms" title="Terms" purpose="What you and the operator agree on." />
}

export function RiskPage() {
  return <PublishedPage kind="risk" title="Risk" purpose="What you can lose, and why." />
}
