import { Checkbox } from '@/components/ui/checkbox'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { useMarkLesson } from './api'
import type { Check, Level } from './lessons'

function CheckRow({ check, done }: { check: Check; done: boolean }) {
  const { userId } = useStore(memberSession)
  const mark = useMarkLesson()
  return (
    <li className="flex min-h-11 items-center gap-3">
      <Checkbox
        id={check.id}
        checked={done}
        onCheckedChange={(ticked) =>
          mark.mutate({ userId: userId ?? '', lesson: check.id, done: ticked === true })
        }
      />
      <label htmlFor={check.id} className="grow py-2">
        {check.text}
      </label>
    </li>
  )
}

/** What to be sure of before a trade. The ticks are the reader's own and stay until they are taken back. */
export function Checklist({ level, done }: { level: Level; done: string[] }) {
  const count = level.checklist.filter((check) => done.includes(check.id)).length
  return (
    <section aria-label={`Checklist before a trade, ${level.name}`} className="mt-5">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <h3 className="text-body">Checklist before a trade</h3>
        <p className="tabular text-compact text-muted-foreground">
          {count} of {level.checklist.length} ticked
        </p>
      </div>
      <ul className="mt-1">
        {level.checklist.map((check) => (
          <CheckRow key={check.id} check={check} done={done.includes(check.id)} />
        ))}
      </ul>
    </section>
  )
}
