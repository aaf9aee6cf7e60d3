import { useQueries, useQueryClient } from '@tanstack/react-query'
import { Lock } from 'lucide-react'
import { useEffect, useRef, useState, type Ref } from 'react'
import { flushSync } from 'react-dom'
import { Controller, type UseFormReturn } from 'react-hook-form'
import { ErrorLine, Field } from '@/components/field'
import { fieldError } from '@/components/form'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { Input } from '@/components/ui/input'
import { Skeleton } from '@/components/ui/skeleton'
import { referral } from '@/lib/referral'
import { codeIn } from '@/lib/referral-link'
import { sponsorQuery, type Sponsor } from './api'
import type { SignUpValues } from './sign-up-schema'
import { invalidCode } from './sign-up-trouble'
import { typedCode } from './use-sign-up-draft'

type SignUpForm = UseFormReturn<SignUpValues>

/** Two sponsors may have one name. */
function nameOf({ display_name: name, username }: Sponsor): string {
  return [name, username && `@${username}`].filter(Boolean).join(' ')
}

interface SponsorCardProps {
  sponsor: Sponsor
  /** The button that asks for another. */
  changer: Ref<HTMLButtonElement>
  onChange: () => void
}

function SponsorCard({ sponsor, changer, onChange }: SponsorCardProps) {
  return (
    <section aria-label="Your sponsor" className="card-box">
      <p className="text-muted-foreground">Invited by</p>
      <p className="flex flex-wrap items-baseline justify-between gap-x-4">
        <span className="min-w-0 text-lead font-semibold">{sponsor.display_name ?? sponsor.username}</span>
        {sponsor.username ? <span className="text-muted-foreground">@{sponsor.username}</span> : null}
      </p>
      <p className="mt-3 flex flex-wrap items-center gap-x-4 gap-y-1 border-t pt-3 text-muted-foreground">
        <span className="flex min-w-0 grow items-start gap-2.5">
          <Lock className="mt-1 size-4 stroke-[1.75]" aria-hidden />
          Your sponsor. This cannot be changed later.
        </span>
        <Button ref={changer} variant="link" size="text" onClick={onChange}>
          Use another code
        </Button>
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

interface CodeFieldProps {
  form: SignUpForm
  onCodes: (codes: string[]) => void
  /** Who it was before another code was asked for. */
  before: Sponsor | null
  onKeep: (sponsor: Sponsor) => void
}

/** The code is looked up when the field is left. One that does not exist is kept nowhere. */
function CodeField({ form, onCodes, before, onKeep }: CodeFieldProps) {
  const client = useQueryClient()
  const error = fieldError(form, 'referral')
  const typed = () => codeIn(form.getValues('referral'))

  async function look(code = typed()): Promise<void> {
    if (!code) return
    const sponsor = await client.query(sponsorQuery(code)).catch(() => undefined)
    if (typed() !== code) return
    if (sponsor) {
      client.setQueryData(sponsorQuery(sponsor.id).queryKey, sponsor)
      onCodes(referral.choose(sponsor.id))
    } else {
      const message = sponsor === null ? invalidCode : 'Your sponsor could not be looked up.'
      form.setError('referral', { message })
    }
  }

  useEffect(() => {
    const kept = typedCode()
    if (!kept || form.getValues('referral')) return
    form.setValue('referral', kept, { shouldDirty: true })
    // The form does not know it yet.
    void look(codeIn(kept))
    // What was typed before this page was loaded is put back once.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [])

  return (
    <div className="flex flex-col gap-1">
      <Field
        label="Referral code"
        hint="Ask the member who told you about us"
        error={error ? <span role="alert">{error}</span> : undefined}
      >
        {(control) => (
          <Input
            {...control}
            {...form.register('referral', {
              onChange: () => form.clearErrors('referral'),
              onBlur: () => void look(),
            })}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return
              event.preventDefault()
              // Leaving the field looks the code up.
              form.setFocus('displayName')
            }}
          />
        )}
      </Field>
      {before ? (
        <Button variant="link" size="text" className="self-start" onClick={() => onKeep(before)}>
          Keep {nameOf(before)}
        </Button>
      ) : null}
    </div>
  )
}

interface ConflictProps {
  form: SignUpForm
  sponsors: Sponsor[]
  onChoose: (sponsor: Sponsor) => void
}

/** Two links were followed: nobody but the visitor decides which one counts. */
function SponsorConflict({ form, sponsors, onChoose }: ConflictProps) {
  const error = fieldError(form, 'referral')
  const count = sponsors.length === 2 ? 'two' : 'several'
  return (
    <Controller
      control={form.control}
      name="referral"
      render={({ field }) => (
        <Notice
          tone="info"
          title={`You followed ${count} referral links`}
          role="group"
          aria-label="Your sponsor"
          aria-describedby={error ? 'sponsor-error' : undefined}
        >
          <p className="mb-3">Who invited you? This cannot be changed later.</p>
          <div className="flex flex-wrap gap-3">
            {sponsors.map((sponsor, index) => (
              <Button
                key={sponsor.id}
                ref={index === 0 ? field.ref : undefined}
                variant="outline"
                className="h-auto min-h-11 py-2 whitespace-normal"
                aria-describedby={error ? 'sponsor-error' : undefined}
                onClick={() => onChoose(sponsor)}
              >
                {nameOf(sponsor)}
              </Button>
            ))}
          </div>
          <div role="alert" className="mt-2 empty:hidden">
            {error ? <ErrorLine id="sponsor-error">{error}. Choose who invited you.</ErrorLine> : null}
          </div>
        </Notice>
      )}
    />
  )
}

interface SponsorChoiceProps {
  form: SignUpForm
  codes: string[]
  onCodes: (codes: string[]) => void
  /** The code in the address, which the visitor may want to correct. */
  link: string | null
}

/** Who invites: a card once that is known, a question when there are two, a field to enter a code before. */
export function SponsorChoice({ form, codes, link, onCodes }: SponsorChoiceProps) {
  const client = useQueryClient()
  const [before, setBefore] = useState<Sponsor | null>(null)
  const changer = useRef<HTMLButtonElement>(null)
  const lookups = useQueries({ queries: codes.map((code) => sponsorQuery(code)) })
  const unknown = codes.filter((_code, index) => lookups[index]?.data === null)
  const found = lookups.flatMap(({ data }) => data ?? [])
  // One member's id and username are two codes of one sponsor.
  const sponsors = [...new Map(found.map((sponsor) => [sponsor.id, sponsor])).values()]
  const failed = lookups.filter(({ isError }) => isError)
  const waiting = lookups.some(({ isPending }) => isPending)
  const only = !waiting && failed.length === 0 && sponsors.length === 1 ? sponsors[0] : undefined
  const retryable = !waiting && failed.length > 0 && codes.length === 1 ? codes[0] : undefined

  useEffect(() => {
    if (unknown.length === 0) return
    onCodes(referral.drop(unknown))
    if (link === null || unknown.length < codes.length || !unknown.includes(link)) return
    form.setValue('referral', link)
    form.setError('referral', { message: invalidCode })
    // Whenever one turns out not to exist.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [unknown.join()])

  const known = only?.id ?? retryable
  useEffect(() => {
    if (known === undefined) return
    form.setValue('referral', known)
    form.clearErrors('referral')
  }, [form, known])

  /** The card takes the place of the button that was pressed, and its focus. */
  function choose(sponsor: Sponsor): void {
    client.setQueryData(sponsorQuery(sponsor.id).queryKey, sponsor)
    flushSync(() => onCodes(referral.choose(sponsor.id)))
    changer.current?.focus()
  }

  if (waiting) return <SponsorSkeleton />
  if (only) {
    const change = () => {
      form.setValue('referral', '', { shouldDirty: true })
      // The field must be there before it can take the focus.
      flushSync(() => {
        setBefore(before ?? only)
        onCodes([])
      })
      form.setFocus('referral')
    }
    return <SponsorCard sponsor={only} changer={changer} onChange={change} />
  }
  if (failed.length === 0 && sponsors.length > 1) {
    return <SponsorConflict form={form} sponsors={sponsors} onChoose={choose} />
  }
  return (
    <>
      {failed.length > 0 ? (
        <Notice
          tone="warning"
          action={
            <Button
              variant="outline"
              size="compact"
              onClick={() => failed.forEach((lookup) => void lookup.refetch())}
            >
              Retry
            </Button>
          }
        >
          Your sponsor could not be looked up.
        </Notice>
      ) : null}
      <CodeField form={form} onCodes={onCodes} before={before} onKeep={choose} />
    </>
  )
}
