import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Skeleton } from '@/components/ui/skeleton'
import { ExportSection } from '@/features/profiles/export-section'
import { ThemeSection } from '@/features/profiles/theme-section'
import { WalletForm } from '@/features/profiles/wallet-form'
import { PasswordForm } from '@/features/security/password-form'
import { TwoStepSection } from '@/features/security/two-step-section'
import { memberQuery } from '@/lib/member'

function Section({ id, title, children }: { id: string; title: string; children: ReactNode }) {
  return (
    <section
      id={id}
      aria-labelledby={`${id}-title`}
      className="flex flex-col gap-4 border-t pt-6 first:border-t-0 first:pt-0"
    >
      <h2 id={`${id}-title`} className="text-section">
        {title}
      </h2>
      {children}
    </section>
  )
}

/** Wallet, password, second factor, looks, one's own data: each part stands and fails alone. */
export default function SettingsPage() {
  const member = useQuery({ ...memberQuery, meta: { errorToast: 'Failed to load user data' } })
  return (
    <PageBody className="flex flex-col gap-8">
      <PageHead title="Settings" purpose="Where you are paid, and how your account is kept safe." />
      <div className="flex w-full max-w-[560px] flex-col gap-10">
        <Section id="wallet" title="Wallet">
          <Region
            query={member}
            errorText="Failed to load user data"
            loadingText="Loading wallet"
            skeleton={<Skeleton className="h-32 w-full" />}
          >
            {({ profile }) => <WalletForm key={profile.trc20_wallet_address} profile={profile} />}
          </Region>
        </Section>
        <Section id="password" title="Password">
          <PasswordForm />
        </Section>
        <Section id="two-step" title="Two-step sign-in">
          <TwoStepSection />
        </Section>
        <Section id="theme" title="Theme">
          <ThemeSection />
        </Section>
        <Section id="mail" title="Email">
          <p className="text-muted-foreground">
            You are mailed about decisions on your money and about the security of your account. These mails
            are always on.
          </p>
        </Section>
        <Section id="data" title="Your data">
          <ExportSection />
        </Section>
      </div>
    </PageBody>
  )
}
