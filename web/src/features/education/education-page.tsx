import { useQuery } from '@tanstack/react-query'
import { Check, Circle } from 'lucide-react'
import { useEffect } from 'react'
import { Link } from 'react-router'
import { Gauge } from '@/components/gauge'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { paths } from '@/lib/paths'
import { usePlatform } from '@/lib/platform'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { lessonsDoneQuery, useMarkLesson } from './api'
import { Checklist } from './checklist'
import { levels, questions, type Lesson, type Level } from './lessons'

const all = levels.flatMap((level) => level.lessons)

/** Three levels of four lessons and a checklist each; the marks are the reader's own. */
export function EducationPage() {
  const query = useQuery(lessonsDoneQuery)
  return (
    <PageBody className="flex flex-col gap-10">
      <PageHead
        title="Trading School"
        purpose="Trading by hand, step by step. Learning material, not advice."
      />
      <Region
        query={query}
        errorText="Your lessons did not load."
        loadingText="Loading your lessons"
        skeleton={<Skeleton className="h-96" />}
      >
        {(done) => <Lessons done={done} />}
      </Region>
      <Questions />
      <p className="flex flex-wrap gap-x-5 gap-y-2">
        <Link className="text-link" to={paths.bots}>
          Bots & Tools
        </Link>
        <Link className="text-link" to={paths.dashboard}>
          Back to the dashboard
        </Link>
      </p>
    </PageBody>
  )
}

function Lessons({ done }: { done: string[] }) {
  const demo = usePlatform().data?.demo ?? false
  const next = all.find((lesson) => !done.includes(lesson.id))
  const started = all.some((lesson) => done.includes(lesson.id))
  return (
    <div className="flex flex-col gap-10">
      <WhereIStopped next={next ?? null} started={started} />
      {levels.map((level) => (
        <LevelSection key={level.name} level={level} done={done} sample={demo && !started} />
      ))}
    </div>
  )
}

function WhereIStopped({ next, started }: { next: Lesson | null; started: boolean }) {
  return (
    <section
      aria-label="Continue learning"
      className="card-box flex flex-wrap items-center justify-between gap-4"
    >
      <div className="min-w-0">
        <p className="text-compact text-muted-foreground">{started ? 'Next lesson' : 'Begin with'}</p>
        <p className="font-semibold">{next ? next.title : 'All lessons are done.'}</p>
      </div>
      {next ? (
        <Button asChild>
          <a href={`#${next.id}`}>{started ? 'Continue' : 'Begin'}</a>
        </Button>
      ) : null}
    </section>
  )
}

interface LevelSectionProps {
  level: Level
  done: string[]
  /** A demonstration nobody has worked in yet shows the demo's own figure, and says so. */
  sample: boolean
}

function LevelSection({ level, done, sample }: LevelSectionProps) {
  const count = level.lessons.filter((lesson) => done.includes(lesson.id)).length
  const percent = sample ? level.demoProgress : (count / level.lessons.length) * 100
  const text = sample
    ? `${level.demoProgress}%, demo progress. Yours: ${count} of ${level.lessons.length} lessons.`
    : `${count} of ${level.lessons.length} lessons done`
  return (
    <section aria-labelledby={level.name} className="grid gap-x-16 gap-y-3 lg:grid-cols-[280px_1fr]">
      <div>
        <h2 id={level.name} className="text-section">
          {level.name}
        </h2>
        <Gauge
          kind="progressbar"
          label={`Lessons, ${level.name}`}
          valueText={text}
          value={percent}
          max={100}
          marks={[0, 25, 50, 75, 100].map((at) => ({ at }))}
          className="mt-1 [--ground:var(--background)]"
        />
        <p className="tabular text-compact text-muted-foreground">{text}</p>
      </div>
      <div>
        <ul className="divide-y border-y">
          {level.lessons.map((lesson) => (
            <LessonRow key={lesson.id} lesson={lesson} done={done.includes(lesson.id)} />
          ))}
        </ul>
        <Checklist level={level} done={done} />
      </div>
    </section>
  )
}

function LessonRow({ lesson, done }: { lesson: Lesson; done: boolean }) {
  const { userId } = useStore(memberSession)
  const mark = useMarkLesson()
  return (
    <li
      id={lesson.id}
      tabIndex={-1}
      className="flex scroll-mt-24 flex-wrap items-start justify-between gap-x-6 gap-y-2 py-4"
    >
      <div className="min-w-0 grow basis-72">
        <h3 className="text-body">{lesson.title}</h3>
        <p className="mt-1 text-muted-foreground">{lesson.text}</p>
      </div>
      <Button
        variant="outline"
        size="compact"
        aria-pressed={done}
        aria-label={`Mark as done: ${lesson.title}`}
        onClick={() => mark.mutate({ userId: userId ?? '', lesson: lesson.id, done: !done })}
      >
        {done ? <Check aria-hidden /> : <Circle aria-hidden />}
        {done ? 'Done' : 'Mark as done'}
      </Button>
    </li>
  )
}

function Questions() {
  useFaqMetadata()
  return (
    <section aria-labelledby="questions">
      <h2 id="questions" className="text-section">
        Questions
      </h2>
      <dl className="mt-2 divide-y border-y">
        {questions.map(({ question, answer }) => (
          <div key={question} className="py-2.5">
            <dt className="font-semibold">{question}</dt>
            <dd className="mt-1 text-muted-foreground">{answer}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

const metadata = JSON.stringify({
  '@context': 'https://schema.org',
  '@type': 'FAQPage',
  mainEntity: questions.map(({ question, answer }) => ({
    '@type': 'Question',
    name: question,
    acceptedAnswer: { '@type': 'Answer', text: answer },
  })),
})

/** The same questions for machines, as schema.org data. A data block runs nothing. */
function useFaqMetadata() {
  useEffect(() => {
    const block = document.createElement('script')
    block.type = 'application/ld+json'
    block.textContent = metadata
    document.head.append(block)
    return () => block.remove()
  }, [])
}
