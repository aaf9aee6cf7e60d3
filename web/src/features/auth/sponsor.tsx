import { useQuery } from '@tanstack/react-query'
import { Lock } from 'lucide-react'
import { useState } from 'react'
import { Field } from '@/components/field'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { Input } from '@/components/ui/input'
import { Skeleton } from '@/components/ui/skeleton'
import { sponsorQuery, type Sponsor } from './api'

function SponsorCard({ sponsor }: { sponsor: Sponsor }) {
  return (
    <section aria-label="Your sponsor" className="card-box">
      <p className="text-muted-foreground">Invited by</p>
      <p className="flex flex-wrap items-baseline justify-between gap-x-4">
        <span className="min-w-0 text-lead font-semibold">{sponsor.display_name ?? sponsor.username}</span>
        {sponsor.username ? <span className="text-muted-foreground">@{sponsor.username}</span> : null}
      </p>
      <p className="mt-3 flex items-center gap-2.5 border-t pt-3 text-muted-foreground">
        <Lock className="size-4 stroke-[1.75]" aria-hidden />
        Your sponsor. This cannot be changed later.
      </p>
    </section>
  )
}

function SponsorSkeleton() {
  return (
    <div className="card-box flex flex-col gap-3" aria-busy>
      <span role="status" className="sr-only">
        Looking up your sponsor
      </span>
      <Skeleton className="w-20" />
      <Skeleton className="h-6 w-44" />
      <Skeleton className="w-full" />
    </div>
  )
}

interface SponsorChoiceProps {
  code: string | null
  /** What is wrong with the code, from a submit. */
  error: string | null
  onCode: (code: string) => void
}

/** Who invites: a card once the code is known, a field to enter it before. The code is looked up when left. */
export function SponsorChoice({ code, error, onCode }: SponsorChoiceProps) {
  const [typed, setTyped] = useState('')
  const query = useQuery({ ...sponsorQuery(code ?? ''), enabled: code !== null })
  if (code !== null && query.data) return <SponsorCard sponsor={query.data} />
  if (code !== null && query.isPending) return <SponsorSkeleton />
  const failed = code !== null && query.isError
  const unknown = code !== null && !failed ? 'Invalid referral code' : null
  const look = () => {
    if (typed.trim()) onCode(typed.trim())
  }
  return (
    <>
      {failed ? (
        <Notice
          tone="warning"
          action={
            <Button variant="outline" size="compact" onClick={() => void query.refetch()}>
              Retry
            </Button>
          }
        >
          Your sponsor could not be looked up.
        </Notice>
      ) : null}
      <Field
        label="Referral code"
        hint="Ask the member who told you about us"
        error={error ?? unknown ?? undefined}
      >
        {(control) => (
          <Input
            {...control}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            onBlur={look}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return
              event.preventDefault()
              look()
            }}
          />
        )}
      </Field>
    </>
  )
}

function Option({ code, onChoose }: { code: string; onChoose: (code: string) => void }) {
  const query = useQuery(sponsorQuery(code))
  const name = query.data?.display_name ?? query.data?.username ?? code
  if (query.isSuccess && query.data === null) return null
  return (
    <Button
      variant="outline"
      onClick={() => onChoose(code)}
      className="h-auto min-h-11 py-2 whitespace-normal"
    >
      {name}
    </Button>
  )
}

/** Two links were followed: nobody but the visitor decides which one counts. */
export function SponsorConflict(props: { kept: string; offered: string; onChoose: (code: string) => void }) {
  return (
    <Notice tone="info" title="You followed two referral links">
      <p className="mb-3">Who invited you? This cannot be changed later.</p>
      <div className="flex flex-wrap gap-3">
        <Option code={props.kept} onChoose={props.onChoose} />
        <Option code={props.offered} onChoose={props.onChoose} />
      </div>
    </Notice>
  )
}
