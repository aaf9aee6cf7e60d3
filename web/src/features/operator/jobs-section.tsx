import { useQuery } from '@tanstack/react-query'
import { Figure } from '@/components/figure'
import { FigureRow } from '@/components/figure-row'
import { Region } from '@/components/region'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { jobsQuery, useRetryMail, type FailedMail, type Jobs } from './api'

function words(name: string): string {
  const text = name.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function Attempts({ count, at }: { count: number; at: string | null }) {
  return (
    <p className="text-compact text-muted-foreground">
      {count === 1 ? '1 attempt' : `${count} attempts`}
      {at ? (
        <>
          , the last <Timestamp value={at} />
        </>
      ) : null}
    </p>
  )
}

function Mail({ mail }: { mail: FailedMail }) {
  const retry = useRetryMail()
  async function send() {
    try {
      await retry.mutateAsync(mail.id)
      toasts.success('Email queued again')
    } catch (error) {
      toasts.error('Error', { description: errorText(error, 'That did not work. Please try again.') })
    }
  }
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-1.5 border-b py-3">
      <div className="min-w-0 grow">
        <p className="font-semibold break-words">
          {words(mail.template)} to {mail.recipient}
        </p>
        <Attempts count={mail.attempts} at={mail.failed_at} />
        {mail.last_error ? (
          <p className="text-compact break-words text-muted-foreground">{mail.last_error}</p>
        ) : null}
      </div>
      <Button
        variant="outline"
        size="row"
        aria-label={`Send again to ${mail.recipient}`}
        busy={retry.isPending && 'Sending'}
        onClick={() => void send()}
      >
        Send again
      </Button>
    </li>
  )
}

function GivenUp({ jobs }: { jobs: Jobs }) {
  if (jobs.failed.length === 0 && jobs.failed_jobs.length === 0)
    return <p className="mt-4 text-muted-foreground">No failed emails or jobs.</p>
  return (
    <ul className="mt-4 border-t">
      {jobs.failed.map((mail) => (
        <Mail key={mail.id} mail={mail} />
      ))}
      {jobs.failed_jobs.map((job) => (
        <li key={`${job.task} ${job.attempted_at ?? ''}`} className="border-b py-3">
          <p className="font-semibold break-words">Job: {words(job.task)}</p>
          <Attempts count={job.attempts} at={job.attempted_at} />
        </li>
      ))}
    </ul>
  )
}

/** What the worker has to send, and what it gave up after its last attempt. */
export function JobsSection() {
  const query = useQuery(jobsQuery)
  return (
    <section aria-labelledby="jobs" className="card-box">
      <h2 id="jobs" className="mb-4 text-section">
        Email and jobs
      </h2>
      <Region
        query={query}
        errorText="Email and jobs did not load."
        loadingText="Loading email and jobs"
        skeleton={<Skeleton className="h-28 w-full" />}
      >
        {(jobs) => (
          <>
            <FigureRow>
              <Figure
                label="Sent in the last 24 hours"
                value={jobs.mail.sent_today.toLocaleString('en-US')}
              />
              <Figure
                label="Waiting"
                value={jobs.mail.waiting.toLocaleString('en-US')}
                note={
                  jobs.mail.oldest_waiting ? (
                    <>
                      oldest from <Timestamp value={jobs.mail.oldest_waiting} />
                    </>
                  ) : null
                }
              />
              <Figure label="Failed" value={jobs.mail.failed.toLocaleString('en-US')} />
            </FigureRow>
            <GivenUp jobs={jobs} />
          </>
        )}
      </Region>
    </section>
  )
}
