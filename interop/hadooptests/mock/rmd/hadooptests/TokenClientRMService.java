package rmd.hadooptests;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.File;
import java.security.PrivilegedExceptionAction;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.minikdc.MiniKdc;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.test.GenericTestUtils;
import org.apache.hadoop.yarn.api.ApplicationClientProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.CancelDelegationTokenRequest;
import org.apache.hadoop.yarn.api.protocolrecords.GetDelegationTokenRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RenewDelegationTokenRequest;
import org.apache.hadoop.yarn.api.records.Token;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.security.client.RMDelegationTokenIdentifier;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.util.ConverterUtils;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.Test;

/**
 * Does what Hadoop's TestTokenClientRMService does, test by test, over RPC: that class calls methods of
 * an object of the ResourceManager, for users that have names and no tickets. Here they have tickets of
 * a MiniKdc, and the tokens are those that rmd gives. Hadoop's class does everything twice, for users
 * with short names and for principals. rmd knows a caller with a ticket by the short name, and so the
 * owner of a token; a Java ResourceManager writes the principal into the token, and into a refusal to
 * cancel it.
 */
public class TokenClientRMService {
  private static final String REALM = "@EXAMPLE.COM";
  private static final String MANAGER = "rm/localhost";

  private static final Map<String, ApplicationClientProtocol> CLIENTS = new HashMap<>();
  private static MiniKdc kdc;
  private static MockRM rm;
  private static File keytab;

  @BeforeClass
  public static void start() throws Exception {
    File dir = GenericTestUtils.getTestDir("kdc");
    kdc = new MiniKdc(MiniKdc.createConf(), dir);
    kdc.start();
    keytab = new File(dir, "keytab");
    kdc.createPrincipal(keytab, MANAGER, "owner", "other", "tester");
    Configuration conf = new YarnConfiguration();
    conf.set("hadoop.security.authentication", "kerberos");
    conf.set("hadoop.security.auth_to_local", "RULE:[1:$1@$0](.*" + REALM + ")s/@.*//\nDEFAULT");
    conf.set(YarnConfiguration.RM_PRINCIPAL, MANAGER + REALM);
    conf.set(YarnConfiguration.RM_KEYTAB, keytab.getPath());
    UserGroupInformation.setConfiguration(conf);
    rm = new MockRM(conf);
    rm.start();
  }

  @AfterClass
  public static void stop() {
    if (rm != null) {
      rm.stop();
    }
    if (kdc != null) {
      kdc.stop();
    }
  }

  /** A client with a ticket of a principal. */
  private static ApplicationClientProtocol as(String name) throws Exception {
    ApplicationClientProtocol has = CLIENTS.get(name);
    if (has == null) {
      UserGroupInformation user = UserGroupInformation.loginUserFromKeytabAndReturnUGI(name + REALM, keytab.getPath());
      has = user.doAs((PrivilegedExceptionAction<ApplicationClientProtocol>) () ->
          ClientRMProxy.createRMProxy(rm.getConfig(), ApplicationClientProtocol.class));
      CLIENTS.put(name, has);
    }
    return has;
  }

  private static Token token(String owner, String renewer) throws Exception {
    Token t = as(owner).getDelegationToken(GetDelegationTokenRequest.newInstance(renewer)).getRMDelegationToken();
    org.apache.hadoop.security.token.Token<RMDelegationTokenIdentifier> decoded =
        ConverterUtils.convertFromYarn(t, (org.apache.hadoop.io.Text) null);
    assertEquals(owner, decoded.decodeIdentifier().getOwner().toString());
    return t;
  }

  private static void renew(String caller, Token t) throws Exception {
    as(caller).renewDelegationToken(RenewDelegationTokenRequest.newInstance(t));
  }

  private static void cancel(String caller, Token t) throws Exception {
    as(caller).cancelDelegationToken(CancelDelegationTokenRequest.newInstance(t));
  }

  private interface Call {
    void run() throws Exception;
  }

  private static void refused(Call call, String... says) throws Exception {
    try {
      call.run();
    } catch (YarnException e) {
      for (String s : says) {
        assertTrue("\"" + e.getMessage() + "\" lacks \"" + s + "\"", e.getMessage().contains(s));
      }
      return;
    }
    fail("it should have failed with " + String.join(" ", says));
  }

  @Test
  public void testTokenCancellationByOwner() throws Exception {
    cancel("tester", token("tester", "other"));
    cancel("owner", token("owner", "other" + REALM));
  }

  @Test
  public void testTokenRenewalWrongUser() throws Exception {
    Token t = token("owner", "other");
    refused(() -> renew("owner", t), "owner tries to renew a token", "with non-matching renewer other");
  }

  @Test
  public void testTokenRenewalByLoginUser() throws Exception {
    renew(MANAGER, token("owner", "owner"));
    renew(MANAGER, token("owner", "other"));
  }

  @Test
  public void testTokenCancellationByRenewer() throws Exception {
    cancel("tester", token("owner", "tester" + REALM));
    cancel("other", token("owner", "other"));
  }

  @Test
  public void testTokenCancellationByWrongUser() throws Exception {
    for (String owner : new String[] {"owner", "other"}) {
      for (String renewer : new String[] {"owner", "other", "owner" + REALM, "other" + REALM}) {
        Token t = token(owner, renewer);
        refused(() -> cancel("tester", t), "tester is not authorized to cancel the token");
      }
    }
  }

  @Test
  public void testTokenRenewalByOwner() throws Exception {
    renew("owner", token("owner", "owner"));
  }
}
