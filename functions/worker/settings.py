"""Settings of the worker."""

from pathlib import Path

from pydantic import Field

from functions.core.settings import MailSettings


class WorkerSettings(MailSettings):
    """Settings of functions/worker.

    Attributes:
        port: where `GET /health` is served; 0 for nowhere.
        smtp_host, smtp_port: the mail server (see functions.core.email.SmtpServer).
        smtp_user, smtp_pass: empty when the server asks for none.
        mail_catcher: that is the mail catcher of development.
        mail_from: `Name <address>`; the name signs the e-mails.
        site_url: the web app's origin, before every link.
        storage_internal_url, supabase_service_role_key: where receipts are removed, and with which key.
        deposit_address: what members must be shown, written down here too; empty when it is not.
        keeps_files: this machine has the two files that follow; of several machines one has them.
        audit_heads_path: the file that the head of the audit log's chain is written to every hour; keep it.
        backups_path: the report of the backups' schedule; empty while backups are off.
        disk_folders: folders whose disks are looked at, as JSON: `{"the database": "/path"}`. No two machines
            use one name.
        disk_full_percent, disk_urgent_percent: above them a disk is an alarm, and an urgent one.
        certificate_address: `host:port` where the gateway serves HTTPS; empty when it does not.
        alarm_webhook_key: signs what is sent to the setting `alarm.webhook_url`; empty: nothing is sent.
        alarm_webhook_private: that address may be one of this machine or of a private network.
    """

    port: int = 0
    smtp_host: str
    smtp_port: int = 587
    smtp_user: str = ""
    smtp_pass: str = ""
    mail_catcher: bool = False
    mail_from: str
    site_url: str
    storage_internal_url: str
    supabase_service_role_key: str
    deposit_address: str = ""
    keeps_files: bool = True
    audit_heads_path: Path
    backups_path: str = ""
    disk_folders: dict[str, str] = Field(default_factory=dict)
    disk_full_percent: int = 80
    disk_urgent_percent: int = 90
    certificate_address: str = ""
    alarm_webhook_key: str = ""
    alarm_webhook_private: bool = False

    @property
    def mail_server(self) -> str:
        """The mail server, as readiness shows it."""
        return "catcher" if self.mail_catcher else f"{self.smtp_host}:{self.smtp_port}"
